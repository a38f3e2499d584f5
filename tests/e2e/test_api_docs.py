"""Every line of curl in docs/api.md works as it stands."""

import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tests.e2e.spaces import fresh_id, removed

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
OPERATION = re.compile(
    r"^### (?P<title>[^\n]+)\n\n`[A-Z]+ /[^\n]+\n.*?^```sh\n(?P<lines>.*?)^```$", re.MULTILINE | re.DOTALL
)
LAST = "Delete a space"
JOBS = {
    "Update summaries",
    "Redo a summary",
    "Start a digest",
    "Ask a question",
    "Get a question",
    "Get a plan that waits for approval",
    "Refuse a plan",
}
"""What may go on after the answer, and nobody waits for."""
NOTHING_THERE = {
    "Split a memory": "409",
    "Set an unreadable object aside": "404",
    "Put an object back": "404",
    "Erase several things": "404",
    "Exchange a code for its token": "401",
    "End a connection": "404",
    # There is no sign-in.
}
"""What needs two memories that an LLM made one, which the offline one never does, an object that somebody damaged,
notes of just these ids, a code that was just made, or a connection, and what is answered where there is none.
"""
STATUS = 'curl() { command curl -w "%{stderr}%{http_code}\\n" "$@"; }\n'
COOLDOWN_SECONDS = 1.5
"""A little more than the services that are tested here have between two runs of a space."""
SLEEP = """
sleep() {
  [ -n "${RUN:-}" ] || { command sleep %s; return; }
  for _ in $(seq 300); do
    if command curl -sS -H "Authorization: Bearer $TOKEN" "$API/spaces/%s/runs/$RUN" | grep -q awaiting_approval; then
      command sleep 0.5  # its worker gives back the lease right after it has said so
      return
    fi
    command sleep 0.2
  done
}
"""
"""A reader waits ten seconds, until a run may start or its plan is there: here no longer than that takes."""


def test_every_line_of_the_guide_is_answered_with_success(service, tmp_path):
    blocks = {found["title"]: found["lines"] for found in OPERATION.finditer(GUIDE.read_text())}
    assert len(blocks) == GUIDE.read_text().count("```sh\n") - 1  # the one that sets the variables
    environment = {"PATH": os.environ["PATH"], "API": f"{service.url}/v1", "TOKEN": service.token}
    space = fresh_id()
    with ExitStack() as made:
        for name in (space, *(f"{space}-{kind}" for kind in ("restored", "fork", "imported"))):
            made.enter_context(removed(service, name))
        for title in sorted(blocks, key=lambda title: title == LAST):
            lines = re.sub(r"\bdemo\b", space, blocks[title])
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", STATUS + SLEEP % (COOLDOWN_SECONDS, space) + lines],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            statuses = done.stderr.split()
            assert done.returncode == 0, (title, done.stdout, done.stderr)
            assert len(statuses) == lines.count("curl "), (title, done.stderr)
            wanted = ("2", NOTHING_THERE.get(title, "2"))
            assert all(status.startswith(wanted) for status in statuses), (title, lines, done.stdout, statuses)
            if "202" in statuses and title not in JOBS:
                # What comes next in the guide is what the run leaves, or a change that has to wait for its end.
                (run_id,) = re.findall(r'"run_id": "(\w+)"', done.stdout)
                assert service.ended(space, run_id).status in ("ok", "nothing_to_do")
            if title == "Start a digest":
                # What it gave up is tried anew further down.
                (slot,) = re.findall(r'"slot": "(\w+)"', done.stdout)
                service.wait_until(
                    lambda slot=slot: service.call("get_digest", {"space_id": space, "slot": slot}),
                    lambda digest: digest["status"] == "done",
                )
            if title == "Import turns":
                # Its summaries are what is listed and made anew further down.
                wait_for_summaries(service, space)


def wait_for_summaries(service, space):
    """Until the jobs of the newest conversation have ended, one at least."""
    newest = service.conversations.list(space, limit=1).items[0].conversation_id
    jobs = service.wait_until(
        lambda: service.conversations.list_summary_jobs(space, newest).items,
        lambda jobs: jobs and all(job.status in ("done", "failed") for job in jobs),
    )
    assert {job.status for job in jobs} == {"done"}
