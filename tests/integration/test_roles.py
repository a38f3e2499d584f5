"""Each role of the template allows what its function asks for, and nothing else.

Every request of a handler, here and in all tests that use `service`, is held against the role of its function. The
stories make the functions ask for all that they ever ask; so what no story needs is too much.
"""

import fcntl
import os
import pickle
import re
from dataclasses import dataclass, replace
from itertools import chain

import pytest

from livemem.access import request_rate
from livemem_http import site
from livemem_http.views.fields import NULLABLE
from tests.support import (
    backup_stories,
    broken_stories,
    mcp_stories,
    memory_stories,
    signin_stories,
    stories,
    talk_stories,
)
from tests.support.policy import Grant, Request, Role, object_arn
from tests.support.template import read_template

# Permissions that no request of a function needs, and why they are there.
NEEDED_BY_LAMBDA_ITSELF = {
    # Lambda sends what it gives up to the failure queue in the name of the function.
    (name, "sqs:SendMessage")
    for name in ("Counter", "Consolidate", "Backup", "Sweep", "Indexer", "Summarize", "Digest", "Ask")
}

# Objects that no function has a reason to touch.
STRANGERS = [
    "_backups/demo/2026-02-20T14-00-00/live/x.md",
    "_system/config.json",
    "_other/x",
    "demo",
    "_due/20260220T1400/ab-x/space",
]
DUE = "_due/20260220T1400/ab-x/space"

# IAM can't say "all that begins with an underscore but the due index", which the sweep removes.
# Nor "every head but those that lie in backups", of which it clears what is left.
SPARED_BY_THE_CODE_ALONE = {
    "Sweep": {("s3:DeleteObject", key) for key in ("_other/x", "_system/config.json", "{space}/_meta.json")}
}

# To IAM what lies in one digest, a version of summaries or a snapshot of memories is all the same.
UNTOUCHED = {
    "Reads": {("s3:GetObject", f"{{space}}/_digests/*/{name}") for name in ("dead/*", "claim.json")},
    "Rooms": {("s3:GetObject", "{space}/_digests/*/claim.json")},
    "Digest": {("s3:GetObject", "{space}/_digests/*/dead/*")},
    "Sweep": {
        ("s3:GetObject", "{space}/memories/*/snapshot/*.vec"),
        # It checks documents; who is at work is none.
        *(("s3:GetObject", f"{{space}}/{name}") for name in ("_digests/*/claim.json", "sessions/*/claim.json")),
    },
    # Who may read what lies below a conversation may read an object without content too.
    "Conversations": {("s3:GetObject", "{space}/conversations/*/deleted")},
    **{name: {("s3:GetObject", "{space}/conversations/*/versions.json")} for name in ("Questions", "Ask")},
}

ACTIONS = ("s3:GetObject", "s3:PutObject", "s3:DeleteObject")

# A backup takes whatever lies below a space, and a restore brings it back: these roles are told what they must not do.
WHOLE_SPACES = {"Archives", "Backup"}
NEVER = {
    ("s3:DeleteObject", f"_system/{name}")
    for name in ("tokens.json", "calls/*", "last_used/*", "oauth/grants/*", "capability-check/*")
} | {
    ("s3:GetObject", "_due/*"),
    ("s3:DeleteObject", "_due/*"),
}
NO_VERSIONS = ("_system/tokens.json", "_system/usage/20260220/00.json", "_uploads/01J", DUE)
"""Of what these roles neither read nor remove former versions."""

MODULES = (stories, broken_stories, talk_stories, memory_stories, mcp_stories, backup_stories, signin_stories)

Asked = dict[str, set[Request]]


@dataclass(frozen=True)
class Told:
    """All stories: what each role was asked for, which routes were called, what went wrong in which, and which fields
    of answers were null.
    """

    asked: Asked
    called: set[tuple[str, str]]
    wrong: dict[str, str]
    nulls: set[str]


@pytest.fixture(scope="module")
def told(roles: dict[str, Role], tmp_path_factory: pytest.TempPathFactory) -> Told:
    """They take many seconds, so of several workers of a test run one tells them all."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    folder = tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent
    file = folder / "stories.pickle"
    with (folder / "stories.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_bytes(pickle.dumps(_told(roles)))
    return pickle.loads(file.read_bytes())  # type: ignore[no-any-return]


def _told(roles: dict[str, Role]) -> Told:
    wrong = {}
    with pytest.MonkeyPatch.context() as patch, stories.opened(roles) as account:
        # Already the first request of a token is counted.
        patch.setattr(request_rate, "UNCOUNTED", 1)
        for story in chain.from_iterable(module.STORIES for module in MODULES):
            try:
                account.tell(story)
            except AssertionError as error:
                wrong[stories.name_of(story)] = str(error)
    return Told(account.service.recorder.asked, account.called, wrong, account.nulls)


@pytest.fixture(scope="module")
def asked(told: Told) -> Asked:
    return told.asked


@pytest.mark.slow
def test_no_function_asks_for_what_its_role_does_not_allow(told: Told):
    assert told.wrong == {}


@pytest.mark.slow
def test_no_answer_holds_a_null_but_that_of_the_last_page(told: Told):
    of_pages = {one for one in told.nulls if one.endswith(f": {NULLABLE}")}

    assert of_pages
    assert told.nulls - of_pages == set()


def test_every_route_is_called_in_a_story(told: Told):
    routes = {
        (event["Properties"]["Method"], event["Properties"]["Path"])
        for resource in read_template()["Resources"].values()
        for event in resource.get("Properties", {}).get("Events", {}).values()
        if event["Type"] == "HttpApi"
    }

    # The page asks nobody for anything (tests/template/test_permissions.py).
    of_the_page = {tuple(key.split(" ", 1)) for key in site.ROUTES}
    assert routes - told.called - of_the_page == set()


def test_no_role_allows_what_its_function_can_do_without(roles: dict[str, Role], asked: Asked):
    superfluous = [
        f"{name}, {grant}"
        for name, role in roles.items()
        for grant in role.superfluous(asked[name])
        if (name, grant.action) not in NEEDED_BY_LAMBDA_ITSELF
    ]

    assert "\n".join(superfluous) == ""


def test_no_role_may_touch_a_kind_of_object_that_its_function_leaves_alone(roles: dict[str, Role], asked: Asked):
    examples = {kind(key): key for requests in asked.values() for request in requests if (key := key_of(request))}
    examples |= {kind(key): key for key in (*STRANGERS, DUE)}
    assert len(examples) > 15

    for name, role in roles.items():
        used = {(request.action, kind(key)) for request in asked[name] if (key := key_of(request))}
        allowed = {
            (action, of)
            for action in ACTIONS
            for of, key in examples.items()
            if role.allows(Request(action, object_arn(key)))
        }
        used = {(action, of) for action, of in used if action in ACTIONS}
        if name in WHOLE_SPACES:
            # What was repaired leaves the due index, where it stands at 1970; entries of other times are the sweep's.
            assert used - {("s3:DeleteObject", "_due/*")} <= allowed
            assert not NEVER & allowed
        else:
            assert allowed == used | SPARED_BY_THE_CODE_ALONE.get(name, set()) | UNTOUCHED.get(name, set()), name


def test_no_role_may_read_or_remove_former_versions_of_what_is_not_a_spaces(roles: dict[str, Role]):
    allowed = {
        (name, action, key)
        for name, role in roles.items()
        for action in ("s3:GetObjectVersion", "s3:DeleteObjectVersion")
        for key in NO_VERSIONS
        if role.allows(Request(action, object_arn(key)))
    }

    assert allowed == set()


def test_a_permission_that_is_missing_is_found(roles: dict[str, Role]):
    admin = Role(tuple(grant for grant in roles["Admin"].grants if grant.action != "lambda:InvokeFunction"))

    with (
        stories.opened(roles | {"Admin": admin}) as account,
        pytest.raises(AssertionError, match=r"the role of Admin .* does not allow lambda:InvokeFunction"),
    ):
        account.tell(stories.corrections_at_the_threshold)


@pytest.mark.parametrize("key", ["*/_rules.md", "demo/live/*", "*"])
def test_a_permission_that_is_too_much_is_found(roles: dict[str, Role], asked: Asked, key: str):
    extra = Grant("Extra", "Allow", "s3:PutObject", object_arn(key))
    reads = replace(roles["Reads"], grants=(*roles["Reads"].grants, extra))

    assert extra in reads.superfluous(asked["Reads"])


def key_of(request: Request) -> str:
    """The key of the object that is asked for; empty if it is about something else."""
    return request.resource.partition(object_arn("x")[:-1])[2]


def kind(key: str) -> str:
    """What a key is one of: `_system/tokens.json`, `_system/last_used/*`, `_due/*`,
    `_backups/*/_manifest.json` or another object of a backup, `{space}/live/*`, `{space}/conversations/*/turns/*`.
    """
    first, *rest = key.split("/")
    if first.startswith("_"):
        return _kind_of_systems(first, rest)
    if rest[:1] == ["conversations"] and len(rest) > 2:
        # Of a version, v1 or v2.
        part = re.sub(r"^v[0-9]+$", "v*", rest[2])
        return "/".join(["{space}", "conversations", "*", part, *("*" for _ in rest[3:4])])
    if rest[:1] == ["memories"] and len(rest) > 3:
        return "/".join(["{space}", "memories", "*", rest[2], "*.vec" if rest[3].endswith(".vec") else "*"])
    if rest[:1] == ["_digests"] and len(rest) > 2:
        # Of one digest: its claim, what was given up, and the rest of it.
        part = {"claim.json": "claim.json", "dead": "dead/*"}.get(rest[2], "*")
        return f"{{space}}/_digests/*/{part}"
    if rest[:1] in (["_asks"], ["sessions"], ["_digests"]) and len(rest) > 1:
        part = re.sub(r"^[0-9A-Za-z]{26,}", "*", rest[1])
        return "/".join(["{space}", rest[0], part, *rest[2:3]])
    return "/".join(["{space}", *rest[:1], *("*" for _ in rest[1:2])])


def _kind_of_systems(first: str, rest: list[str]) -> str:
    """The same for a key that is no space's."""
    if first in {"_due", "_uploads"}:
        return f"{first}/*"
    if first == "_backups":
        return f"{first}/*/{rest[-1] if rest[-1] == '_manifest.json' else '*'}"
    if rest[:1] == ["oauth"]:
        return f"{first}/oauth/{rest[1]}/*"
    return "/".join([first, *rest[:1], *("*" for _ in rest[1:2])])
