"""Tokens as requests and answers."""

from typing import Annotated

from pydantic import Field

from livemem import limits
from livemem.access import management, rotation, tokens
from livemem.access.management import Revoked, ShownToken
from livemem.access.registry import Token
from livemem.access.rotation import Rotated
from livemem.access.tokens import CreatedToken
from livemem_http.views.fields import Agent, Body, Moment, NextCursor, SpaceId, View, described

TokenHash = Annotated[
    str,
    described(
        "What the registry knows the token by: its SHA-256. The token itself is stored nowhere.",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
]
Permissions = Annotated[list[str], described("Some of `read`, `write` and `admin`.", ["read", "write"])]
Email = Annotated[str, described("Who answers for the token.", minLength=3, maxLength=limits.EMAIL_CHARACTERS)]
Days = Annotated[
    int,
    described(
        "Days until the token expires. Without an expiry it is valid until it is revoked, or as long as the token that"
        " makes it, if that has an end; a later end is refused.",
        90,
        minimum=1,
        maximum=limits.TOKEN_DAYS,
    ),
]
Until = Annotated[
    str, described("Or the moment at which it expires, ISO 8601; not with `expires_in_days`.", format="date-time")
]


class NewToken(Body):
    """A token to make. It gets at most the permissions and spaces of the token of the request."""

    name: Annotated[Agent, described("The agent that uses it: its notes bear this name.", "cline-dev")]
    permissions: Permissions
    space_ids: Annotated[
        list[SpaceId],
        Field(description="The spaces that it may use; they need not exist yet. Empty: all.", examples=[["demo"]]),
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
    """The fields to change. A field that is left out keeps its value. The name never changes: notes have it."""

    permissions: Permissions | None = None
    space_ids: Annotated[
        list[SpaceId] | None, Field(description="The spaces that it may use from now on.", examples=[["demo"]])
    ] = None
    all_spaces: Annotated[bool, described("True lets it use all spaces. An empty list of spaces alone is refused.")] = (
        False
    )
    expires_in_days: Annotated[
        Days | None, Field(description="Days from now until it expires; null: never.", examples=[90])
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


class Revocation(Body):
    """The other tokens that a revocation ends."""

    successors: Annotated[
        bool,
        described("Whether it ends the tokens too that this one was rotated to: who stole it may have done so.", True),
    ] = True
    descendants: Annotated[
        bool,
        described(
            "Whether it ends the tokens too that this one has made, and what those have made: who stole it may have"
            " done so.",
            True,
        ),
    ] = True


class Rotation(Body):
    """The options of a rotation."""

    grace_seconds: Annotated[
        int,
        described(
            "For how long the old token works on, in seconds.",
            rotation.GRACE_DEFAULT,
            minimum=0,
            maximum=limits.GRACE_SECONDS,
        ),
    ] = rotation.GRACE_DEFAULT


class MakerView(View):
    """The token that made another one."""

    hash: Annotated[
        str | None,
        described("The beginning of its hash, which names it; left out: the bootstrap key.", "sha256:9f86d081884c7d65"),
    ] = None
    name: Annotated[str, described("Its name.", "boss")]


class TokenView(View):
    """A token's entry, without the secret itself."""

    hash: TokenHash
    name: Annotated[str, described("The agent that uses it.", "cline-dev")]
    permissions: Permissions
    space_ids: Annotated[
        list[str] | None,
        described("The spaces that it may use; empty: all; left out: the entry lets nobody in.", ["demo"]),
    ] = None
    email: Annotated[str | None, described("Who answers for it.")] = None
    created_at: Annotated[Moment | None, described("When it was made, UTC.", "2026-02-20T09:00:00Z")] = None
    expires_at: Annotated[
        Moment | None, described("When it expires, UTC; left out: never.", "2026-05-21T09:00:00Z")
    ] = None
    revoked: Annotated[bool, described("Whether it lets nobody in any more.", False)]
    replaced_by: Annotated[str | None, described("The hash of the token that it was rotated to.")] = None
    made_by: Annotated[
        MakerView | None,
        described("The token that made it; left out: nobody knows, since an older version made it."),
    ] = None

    @classmethod
    def of(cls, token: Token) -> "TokenView":
        return cls.model_validate(token, from_attributes=True)


class TokenRevoked(TokenView):
    """A token that was revoked."""

    others: Annotated[
        list[str],
        described("The hashes of all tokens that were revoked with it: its successors, and what they made.", []),
    ]

    @classmethod
    def of_revoked(cls, revoked: Revoked) -> "TokenRevoked":
        return cls(**TokenView.of(revoked.token).model_dump(), others=list(revoked.others))


class TokenShown(TokenView):
    """A token in the list."""

    last_used_at: Annotated[
        Moment | None,
        described(
            "When it was last used, to about ten minutes, UTC; left out: no use was noted.", "2026-02-20T14:00:00Z"
        ),
    ] = None

    @classmethod
    def of_shown(cls, shown: ShownToken) -> "TokenShown":
        return cls(**TokenView.of(shown.token).model_dump(), last_used_at=shown.last_used_at)


class TokenPage(View):
    """A page of tokens."""

    items: Annotated[
        list[TokenShown], described("The tokens that the caller may manage, in the order of their hashes.")
    ]
    next_cursor: NextCursor = None


class TokenMade(TokenView):
    """A new token."""

    token: Annotated[
        str,
        described(
            "The token. It is shown this once and stored nowhere.", "lm_EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE_"
        ),
    ]

    @classmethod
    def of_made(cls, made: CreatedToken) -> "TokenMade":
        return cls(**TokenView.of(made.token).model_dump(), token=made.text)


class TokenRotated(TokenMade):
    """The token that replaces the one of the request."""

    old_expires_at: Annotated[Moment, described("When the old token ends, UTC.", "2026-02-20T15:00:00Z")]

    @classmethod
    def of_rotated(cls, rotated: Rotated) -> "TokenRotated":
        return cls(**TokenMade.of_made(rotated.made).model_dump(), old_expires_at=rotated.old_expires_at)


class TokensPurged(View):
    """The tokens that were removed."""

    purged: Annotated[int, described("How many tokens were removed.", 2)]
    hashes: Annotated[list[str], described("Their hashes.", [])]
