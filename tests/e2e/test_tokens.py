"""Tokens from outside: `make token` as a program, and what an agent can do with what it gets."""

import os
import subprocess

import pytest

from tests.e2e.client import Service
from tests.e2e.spaces import fresh_id, fresh_space
from tests.e2e.stack import ROOT, give_up


def make_token(name: str, spaces: str, more: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    others = ("S3_", "AWS_", "LLMAAS_", "EMBEDDINGS_", "MAKE", "MFLAGS", "API", "TOKEN")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(others)}
    return subprocess.run(
        ["make", "--old-file=setup", "token", f"NAME={name}", f"SPACE={spaces}", f"ARGS={more}"],
        cwd=ROOT,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def named(service) -> dict[str, str]:
    """The service as two variables name it."""
    return {"API": f"{service.url}/v1", "TOKEN": service.token}


def test_a_token_that_make_token_prints_is_let_in_where_it_may_and_nowhere_else(service, named):
    with fresh_space(service, 0) as space:
        made = make_token("agent-one", space, **named)

        agent = Service(service.url, made.stdout.strip())
        assert (made.returncode, agent.service.whoami().name) == (0, "agent-one")
        note = {"category": "todo", "content": "x"}
        assert agent.send("POST", f"/spaces/{space}/notes", note).body["agent"] == "agent-one"
        assert agent.send("GET", f"/spaces/{fresh_id()}").status == 403
        assert agent.send("GET", "/tokens").status == 403
        # Its only space goes, and with it the token.
        assert made.stdout.strip() not in str(service.call("list_tokens", {"limit": 500}))


def test_make_token_finds_the_service_that_make_run_serves(service, running):
    if not running.data:
        give_up("LIVEMEM_URL names a service that was not started here")

    made = make_token("agent-two", "demo", LIVEMEM_DATA_DIR=str(running.data))

    assert Service(service.url, made.stdout.strip()).service.whoami().space_ids == ["demo"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["agent-one", ""], "name the spaces"),
        (["agent-one", "demo", "-p root"], "permissions: must be some of"),
    ],
)
def test_what_is_wrong_is_said_and_no_token_is_printed(named, arguments, says):
    done = make_token(*arguments, **named)

    assert done.returncode
    assert done.stdout == ""
    assert says in done.stderr


def test_without_a_running_service_it_says_what_to_start(tmp_path):
    done = make_token("agent-one", "demo", LIVEMEM_DATA_DIR=str(tmp_path))
    nowhere = make_token("agent-one", "demo", API="http://127.0.0.1:9/v1", TOKEN="x")

    assert (bool(done.returncode), done.stdout, bool(nowhere.returncode)) == (True, "", True)
    assert "start `make run` first" in done.stderr
    assert "No connection to" in nowhere.stderr


def test_an_agent_replaces_its_own_token(service):
    wanted = {"name": "agent-three", "permissions": ["read"], "space_ids": ["demo"]}
    old = service.send("POST", "/tokens", wanted).body
    agent = Service(service.url, old["token"])

    first = agent.send("POST", "/tokens/self/rotate", {"grace_seconds": 600}, Idempotency_Key="job-1")
    assert first.status == 201
    assert agent.send("POST", "/tokens/self/rotate").status == 409
    # The answer was lost, so it asks again.
    second = agent.send("POST", "/tokens/self/rotate", {"grace_seconds": 600}, Idempotency_Key="job-1")

    assert Service(service.url, second.body["token"]).service.whoami().name == "agent-three"
    assert agent.service.whoami().expires_at == second.body["old_expires_at"]


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "bEaReR", "Basic", "", "Bearer Bearer"])
def test_the_scheme_is_spelt_in_one_way(service, scheme):
    answer = Service(service.url, None).send("GET", "/whoami", Authorization=f"{scheme} {service.token}".strip())

    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
