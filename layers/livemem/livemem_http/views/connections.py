"""Connections by sign-in as answers."""

from typing import Annotated

from livemem.signin.connections import Connection
from livemem_http.views.fields import Moment, Page, View, described


class ConnectionView(View):
    """A client that a person has allowed to act for a token."""

    connection_id: Annotated[str, described("The id of the connection.", "01KHXE5Q2V8R0M4T6W9YBNCD3F")]
    name: Annotated[str, described("The name of the token for which the client acts. Its notes carry it.", "ann")]
    client_name: Annotated[
        str, described("The name that the client gives itself. Any client can take any name.", "Claude")
    ]
    redirect_host: Annotated[
        str,
        described("The host to which the person was sent back: `claude.ai`, or the scheme of an app.", "claude.ai"),
    ]
    permissions: Annotated[list[str], described("The rights that the person chose.", ["read", "write"])]
    space_ids: Annotated[
        list[str], described("The spaces that the person chose. Empty: all spaces of the token.", ["demo"])
    ]
    created_at: Annotated[Moment, described("The time when it was allowed, UTC.", "2026-02-20T09:00:00Z")]
    last_used_at: Annotated[
        Moment | None,
        described(
            "The time of the last use, UTC, with a precision of about ten minutes. Left out: no use was recorded.",
            "2026-02-20T14:00:00Z",
        ),
    ] = None
    expires_at: Annotated[
        Moment,
        described("The time when it ends if the client does not refresh its tokens before.", "2026-05-21T09:00:00Z"),
    ]

    @classmethod
    def of(cls, connection: Connection) -> "ConnectionView":
        grant = connection.grant
        return cls(
            connection_id=grant.grant_id,
            name=connection.name,
            client_name=grant.client_name,
            redirect_host=grant.redirect_host,
            permissions=grant.scope,
            space_ids=grant.space_ids,
            created_at=grant.created_at,
            last_used_at=connection.last_used_at,
            expires_at=grant.ends_at,
        )


class ConnectionPage(Page):
    """A page of connections."""

    items: Annotated[list[ConnectionView], described("The connections that work, oldest first.")]
