"""What clients are told before they sign in: where the authorization server is, and what it can do."""

from typing import Any

from livemem.signin.consent import SCOPES

RESOURCE_PATH = "/mcp"
PROTECTED = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
AUTHORIZE, TOKEN, REVOKE, REGISTER = "/oauth/authorize", "/oauth/token", "/oauth/revoke", "/oauth/register"
REFRESH_BY_DEFAULT = "/token"
"""The official SDK refreshes here when it starts with kept tokens: it reads the metadata again only after a 401."""
PROVIDER, CALLBACK = "/oauth/oidc", "/oauth/callback"
"""The way to an outside provider, and back."""
PAGES = (AUTHORIZE, PROVIDER, CALLBACK)
"""What people see. All else is for clients."""


def resource(issuer: str) -> str:
    """The address of `/mcp`: what tokens are for (RFC 8707)."""
    return f"{issuer}{RESOURCE_PATH}"


def protected_resource(issuer: str) -> dict[str, Any]:
    """RFC 9728."""
    return {
        "resource": resource(issuer),
        "authorization_servers": [issuer],
        "scopes_supported": [*SCOPES],
        "bearer_methods_supported": ["header"],
        "resource_name": "Live Memory",
    }


def authorization_server(issuer: str) -> dict[str, Any]:
    """RFC 8414. Without `none` and S256 some clients refuse to go on."""
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}{AUTHORIZE}",
        "token_endpoint": f"{issuer}{TOKEN}",
        "revocation_endpoint": f"{issuer}{REVOKE}",
        "registration_endpoint": f"{issuer}{REGISTER}",
        "scopes_supported": [*SCOPES],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": True,
    }
