"""`livemem mcp-headers`: the headers of requests to the service, for a client that asks a program for them."""

import json
import sys
from dataclasses import replace
from urllib.parse import urlsplit

import typer

from live_memory.cli import agent_tokens, config
from live_memory.cli.config import LOCAL_SERVICE, Settings
from live_memory.cli.exits import NO_ACCESS, Refused
from live_memory.cli.program import Program
from live_memory.cli.session import plain

ASKED_URL = "CLAUDE_CODE_MCP_SERVER_URL"
"""The variable in which Claude Code names the server (https://code.claude.com/docs/en/mcp)."""
AGENT = "claude-code"
ENVIRONMENT = "environment"
SECONDS = 5.0


def mcp_headers(ctx: typer.Context) -> None:
    """Print the headers of requests to the service as one JSON object, for the `headersHelper` of Claude Code.

    Where the client names its server, the token of that service is printed, of any profile, and never that of another
    service. The object holds a token: do not keep the output.
    """
    with plain(ctx, json=False) as (program, _):
        token = token_for(program, program.environ.get(ASKED_URL))
        sys.stdout.write(json.dumps({"Authorization": f"Bearer {token}"}) + "\n")


def token_for(program: Program, asked: str | None) -> str:
    """The token for the service at the URL of an MCP server; None: for that of the profile. Raises Refused."""
    settings = config.settle(program.environ, profile=program.profile)
    if asked:
        settings = _belonging(program, settings, base_of(asked))
    if settings.is_local_service:
        return agent_tokens.of_local_service(program, settings, AGENT, SECONDS).get()
    return settings.need_token()


def base_of(server_url: str) -> str:
    """The URL of the service that an MCP server belongs to. Raises Refused."""
    parts = urlsplit(server_url)
    return config.check_url(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/mcp')}")


def _belonging(program: Program, settings: Settings, url: str) -> Settings:
    """The settings for the service at a URL: those of this call, else of the profile that names it. Raises Refused."""
    if settings.url == url:
        return settings
    # The token alone in the environment: whoever sets it means the service that the client is configured for.
    if settings.url is None and settings.sources["token"] == ENVIRONMENT:
        return settings
    if not program.profile:
        for profile in config.read(config.file_path(program.environ)).values():
            if profile.url == url and profile.token:
                return replace(settings, url=url, token=profile.token, sources={**settings.sources, "url": "file"})
    where = settings.url or "no service"
    here = " (the service of this machine)" if settings.sources["url"] == LOCAL_SERVICE else ""
    raise Refused(
        f"You are not logged in to {url}, but to {where}{here}: `livemem --profile NAME login --url {url}`.", NO_ACCESS
    )
