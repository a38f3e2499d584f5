"""The daily commands, a module for each kind; each asks the service once or a few times and shows the answer."""
