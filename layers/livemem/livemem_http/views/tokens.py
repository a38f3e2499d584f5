"""Tokens as requests and answers."""

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from livemem import limits
from livemem.access import management, rotation, tokens
from livemem.access.registry import Token
from livemem_http.views.fields import Agent, Body, Moment, Page, SpaceId, View, described

TokenHash = Annotated[
    str,
    described(
        "The SHA-256 of the token, by which the registry knows it. The token itself is not stored.",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
]
Permissions = Annotated[list[str], described("Some of `read`, `write` and `admin`.", ["read", "write"])]
Email = Annotated[
    str,
    described("The e-mail address of the responsible person.", minLength=3, maxLength=limits.EMAIL_CHARACTERS),
]
Days = Annotated[
    int,
    described(
        "The number of days until the token expires. By default it is valid until it is revoked, or until "
        "the token that makes it expires. A later expiry than that is refused.",
        90,
        minimum=1,
        maximum=limits.TOKEN_DAYS,
    ),
]
Until = Annotated[
    str, described("The expiry time, ISO 8601. It can't be combined with `expires_in_days`.", format="date-time")
]


class NewToken(Body):
    """A token to make. It gets at most the permissions and spaces of the token of the request."""

    name: Annotated[Agent, described("The agent that uses the token. Its notes carry this name.", "cline-dev")]
    permissions: Permissions
    space_ids: Annotated[
        list[SpaceId],
        Field(
            description="The spaces that the token may use. They need not exist yet. Empty: all.", examples=[["demo"]]
        ),
    ] = []
    expires_in_days: Days | None = None
    expires_at: Until | None = None
    email: Email | None = None

    def wanted(self) -> tokens.TokenRequest:
        """The token for the domain."""
        return tokens.TokenRequest(
            self.name, self.permissions, self.space_ids, self.expires_in_days, self.expires_at, self.email
        )


class TokenChange(Body):
    """The fields to change. A field that is left out keeps its value. The name never changes: notes carry it."""

    permissions: Permissions | None = None
    space_ids: Annotated[
        list[SpaceId] | None, Field(description="The new list of spaces that the token may use.", examples=[["demo"]])
    ] = None
    all_spaces: Annotated[
        bool, described("True: the token may use all spaces. An empty list of `space_ids` is refused.")
    ] = False
    expires_in_days: Annotated[
        Days | None,
        Field(description="Number of days from now until it expires. Null: never.", examples=[90]),
    ] = None
    expires_at: Until | None = None
    email: Email | None = None

    def wanted(self) -> management.TokenUpdate:
        """The change for the domain. Null removes an expiry or an address."""
        given = self.model_fields_set
        return management.TokenUpdate(
            self.permissions,
            self.space_ids,
            self.all_spaces,
            self.expires_in_days if "expires_in_days" in given else ...,
            self.expires_at if "expires_at" in given else ...,
            self.email if "email" in given else ...,
        )


Successors = Annotated[
    bool,
    Query(
        description="Whether to revoke also the tokens that this one was rotated to. A thief may have rotated it.",
        examples=[True],
    ),
]
Descendants = Annotated[
    bool,
    Query(
        description="Whether to revoke also the tokens that this one made, and the tokens that those made. A thief of "
        "the token may have made them.",
        examples=[True],
    ),
]
Forget = Annotated[
    bool, Query(description="Whether to remove the entry of this token from the list as well.", examples=[False])
]

RotationKey = Annotated[
    str,
    described(
        "A name of your own for this rotation. If its answer was lost, a repeat with the same name within ten minutes "
        "makes another new token and revokes the lost one. Of several requests the one that came last counts. A repeat "
        "without the name, or with another one, is refused (409).",
        "rotation-7",
        minLength=1,
        maxLength=limits.IDEMPOTENCY_KEY_CHARACTERS,
    ),
]


class Rotation(Body):
    """The options of a rotation."""

    grace_seconds: Annotated[
        int,
        described(
            "The time in seconds for which the old token stays valid.",
            rotation.GRACE_DEFAULT,
            minimum=0,
            maximum=limits.GRACE_SECONDS,
        ),
    ] = rotation.GRACE_DEFAULT


class MakerView(View):
    """The token that made another one."""

    hash: Annotated[
        str | None,
        described(
            "The beginning of the hash of that token, which identifies it. Left out: the bootstrap key.",
            "sha256:9f86d081884c7d65",
        ),
    ] = None
    name: Annotated[str, described("The name of that token.", "boss")]


class TokenView(View):
    """A token's entry."""

    hash: TokenHash
    name: Annotated[str, described("The agent that uses the token.", "cline-dev")]
    permissions: Permissions
    space_ids: Annotated[
        list[str] | None,
        described(
            "The spaces that it may use. Empty: all. Left out: the entry has no list, and the token is refused.",
            ["demo"],
        ),
    ] = None
    email: Annotated[str | None, described("The e-mail address of the responsible person.")] = None
    created_at: Annotated[
        Moment | None, described("The time when the token was made, UTC.", "2026-02-20T09:00:00Z")
    ] = None
    expires_at: Annotated[
        Moment | None, described("The expiry time, UTC. Left out: never.", "2026-05-21T09:00:00Z")
    ] = None
    revoked: Annotated[bool, described("Whether the token was revoked.", False)]
    replaced_by: Annotated[str | None, described("The hash of the token that this one was rotated to.")] = None
    made_by: Annotated[
        MakerView | None,
        described("The token that made this one. Left out: unknown, because an older version of the service made it."),
    ] = None

    last_used_at: Annotated[
        Moment | None,
        described(
            "The time of the last use, UTC, with a precision of about ten minutes. Left out: none was recorded. The "
            "list tells it.",
            "2026-02-20T14:00:00Z",
        ),
    ] = None
    others: Annotated[
        list[str] | None,
        described("The hashes of all tokens that were revoked along: its successors, and those that they made.", []),
    ] = None
    token: Annotated[
        str | None,
        described(
            "The new token itself. Only the answer that makes it shows it, and it is not stored.",
            "lm_EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE_",
        ),
    ] = None
    old_expires_at: Annotated[
        Moment | None,
        described("The time when the token that a rotation replaces becomes invalid, UTC.", "2026-02-20T15:00:00Z"),
    ] = None

    @classmethod
    def of(cls, entry: Token, /, **more: Any) -> "TokenView":
        return cls.model_validate(entry, from_attributes=True).model_copy(update=more)


class TokenPage(Page):
    """A page of tokens."""

    items: Annotated[list[TokenView], described("The tokens that the caller may manage, sorted by hash.")]


class PageCode(View):
    """A code for the page."""

    page_code: Annotated[str, described("The code.", "EXAMPLE-CODE-EXAMPLE-CODE-EXAMPLE-CODE-EXAMP")]
    path: Annotated[
        str,
        described(
            "The path of the page with the code, below the address of the service.",
            "/#code=EXAMPLE-CODE-EXAMPLE-CODE-EXAMPLE-CODE-EXAMP",
        ),
    ]
    expires_in: Annotated[int, described("For how many seconds the code can be exchanged.", 60)]


class PageCodeExchange(Body):
    """A code to exchange for its token."""

    code: Annotated[
        str, described("The code.", "EXAMPLE-CODE-EXAMPLE-CODE-EXAMPLE-CODE-EXAMP", minLength=1, maxLength=200)
    ]


class PageToken(View):
    """The token that a code stood for."""

    token: Annotated[str, described("The token.", "lm_EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE_")]
    name: Annotated[str, described("The name of the token.", "cline-dev")]
