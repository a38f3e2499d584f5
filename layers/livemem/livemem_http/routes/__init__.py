"""The routes, a module for each function that answers some: what the function does besides is in its own `app.py`."""
