"""An MCP server over stdio that passes each message on to the service, and starts the one of this machine if needed."""
