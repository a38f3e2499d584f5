"""Every operation of the service as a command, made from the table of operations: `livemem api notes list`."""
