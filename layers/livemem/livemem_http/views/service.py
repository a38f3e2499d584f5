"""The service and its caller, as answers."""

from typing import TYPE_CHECKING, Annotated, Literal

from livemem import __version__, limits
from livemem.access.principal import PERMISSIONS, Principal
from livemem.spaces import rules
from livemem.store import keys
from livemem_http.views.fields import SpaceId, View, described

if TYPE_CHECKING:
    from livemem.upkeep.health import Health


class SpaceProblem(View):
    """A problem of a space that a person should look at."""

    space_id: SpaceId
    code: Annotated[str, described("A stable code of the problem.", "auto_paused")]
    detail: Annotated[
        str, described("The meaning of the problem, and what to do about it.", "Automatic consolidation is paused.")
    ]


class HealthView(View):
    """The health of the service."""

    status: Annotated[
        Literal["ok", "degraded", "error"],
        described(
            "`ok`. `degraded`: the service works, but something needs attention. `error`: the service does not work.",
            "ok",
        ),
    ]
    version: Annotated[str, described("The version of the service.", __version__)]
    checks: Annotated[
        dict[str, str | float | None],
        described(
            "The result of each check, by its name. errors.md explains all values. With a token the checks "
            "include `oldest_pending_note_seconds`, `llm_last_call`, `llm_model` and `embeddings_model`.",
            {"store": "ok", "conditional_writes": "ok", "llm": "ok", "embeddings": "ok"},
        ),
    ]
    spaces: Annotated[
        list[SpaceProblem] | None,
        described("The spaces that need attention, of those that the token may see. Only with a token.", []),
    ] = None

    @classmethod
    def of(cls, health: "Health", *, with_spaces: bool) -> "HealthView":
        problems = [SpaceProblem.model_validate(item, from_attributes=True) for item in health.problems]
        return cls(
            status=health.status,
            version=__version__,
            checks=dict(health.checks),
            spaces=problems if with_spaces else None,
        )


class WhoAmI(View):
    """A token and its permissions."""

    name: Annotated[
        str, described("The name of the token. Notes written with it carry this name as their agent.", "cline-dev")
    ]
    permissions: Annotated[
        list[str], described("Its permissions: some of `read`, `write` and `admin`.", ["read", "write"])
    ]
    space_ids: Annotated[list[str], described("The spaces that it may use. Empty: all.", ["demo"])]
    expires_at: Annotated[str | None, described("The expiry time, ISO 8601. Left out: never.")] = None

    @classmethod
    def of(cls, caller: Principal) -> "WhoAmI":
        permissions = sorted(caller.permissions, key=PERMISSIONS.index)
        spaces = sorted(caller.space_ids)
        return cls(name=caller.name, permissions=permissions, space_ids=spaces, expires_at=caller.expires_at)


class About(View):
    """The service's version and limits."""

    version: Annotated[str, described("The version of the service.", __version__)]
    limits: Annotated[
        dict[str, int],
        described(
            "The limits by name. The name says whether the value counts bytes, characters or items.",
            {"note_bytes": limits.NOTE_BYTES, "batch_notes": limits.BATCH_NOTES, "page_items": limits.PAGE_ITEMS},
        ),
    ]
    categories: Annotated[list[str], described("The categories of notes.", list(keys.CATEGORIES))]
    rules_templates: Annotated[
        list[str], described("The templates: rules that come with the service.", list(rules.TEMPLATES))
    ]
