"""The same operations as MCP tools: thin skins over the domain, with the views and the access control of the routes."""
