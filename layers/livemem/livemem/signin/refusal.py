"""The one error of sign-in, with the code that OAuth has for it (RFC 6749, 4.1.2.1 and 5.2)."""

from typing import Literal

from livemem.errors import InvalidRequest

RefusalReason = Literal[
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "invalid_scope",
    "invalid_target",
    "invalid_redirect_uri",
    "invalid_client_metadata",
    "unsupported_grant_type",
    "unsupported_response_type",
    "access_denied",
    "temporarily_unavailable",
]


class Refused(InvalidRequest):
    """The request of a client is refused. `reason` is OAuth's code for it, `detail` what the client's user can do."""

    def __init__(self, reason: RefusalReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
