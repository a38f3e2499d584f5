"""A program named `claude` that plays one behaviour: what it does stands in the file `plays` beside it."""

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

SOURCE = """
import json, os, pathlib, signal, sys, time
here = pathlib.Path(__file__).resolve().parent
plays = (here / "plays").read_text()
prompt, url = sys.stdin.read(), os.environ.get("ANTHROPIC_BASE_URL")
called = {"argv": sys.argv[1:], "env": dict(os.environ), "prompt": prompt, "pid": os.getpid(), "checked": bool(url)}
called |= {"folder": sorted(os.listdir()), "system": pathlib.Path("system.txt").read_text()}
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(called) + "\\n")

def tell(text, status=0, tools=(), info=None, **more):
    usage = {"input_tokens": 100, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3, "output_tokens": 7}
    told = {"type": "result", "is_error": bool(status), "result": text, "stop_reason": "end_turn", "usage": usage}
    parts = [{"type": "system", "subtype": "init", "tools": list(tools), "mcp_servers": []}]
    parts += [{"type": "rate_limit_event", "rate_limit_info": info}] if info else []
    print(json.dumps([*parts, {**told, "total_cost_usd": 0.25, **more}]))
    sys.exit(status)

if plays == "an old version":
    sys.exit("error: unknown option '--tools'")
if url:
    import socket
    file = pathlib.Path("word.txt").read_text() if plays == "reads files" else ""
    sent = {"tools": [{"name": "Bash"}] if plays == "sends tools" else [], "messages": [prompt, file]}
    body = json.dumps(sent).encode()
    head = f"POST /v1/messages HTTP/1.1\\nHost: api\\nConnection: close\\nContent-Length: {len(body)}\\n\\n"
    with socket.create_connection(url.removeprefix("http://").split(":")) as api:
        api.sendall(head.replace("\\n", "\\r\\n").encode() + body)
        assert b"checked" in api.makefile("rb").read()
    tell(json.dumps({"checked": True}))

def leave():
    import subprocess
    sleeper = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)"
    (here / "child").write_text(str(subprocess.Popen([sys.executable, "-IS", "-c", sleeper]).pid))

if plays == "is not logged in":
    tell("Not logged in \\u00b7 Please run /login", 1)
elif plays == "has reached a limit":
    tell("You've hit your session limit", 1, api_error_status=429, info={"resetsAt": 4_000_000_000})
elif plays == "is cut":
    tell('{"a', stop_reason="max_tokens")
elif plays == "has no room":
    tell("API Error: Claude's response exceeded the 64000 output token maximum.", 1)
elif plays == "says nothing":
    tell("")
elif plays == "speaks prose":
    tell("I would rather not.")
elif plays == "speaks no JSON":
    print("Welcome!")
elif plays == "fails":
    sys.exit(9)
elif plays == "has tools all the same":
    tell("{}", tools=["Bash"])
elif plays == "floods":
    for _ in range(100):
        sys.stdout.write("x" * 1_000_000)
elif plays == "leaves a child":
    leave()
    tell('{"ok": true}')
elif plays == "hangs":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    leave()
    time.sleep(300)
tell('{"ok": true}')
"""


class PlayedClaude:
    """The program in a folder, and what it was called with."""

    def __init__(self, folder: Path, plays: str = "answers") -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.path = folder, folder / "claude"
        self.path.write_text(f"#!{sys.executable} -IS\n{SOURCE}")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self.plays(plays)

    def plays(self, what: str) -> None:
        (self.folder / "plays").write_text(what)

    def calls(self, *, checked: bool = False) -> list[dict[str, Any]]:
        """Those for the service, or those of its check of the version."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        return [call for call in map(json.loads, lines) if call["checked"] == checked]

    def alive(self) -> list[int]:
        """The processes that are left: those of all calls, and the child of the last one."""
        child = self.folder / "child"
        pids = [call["pid"] for checked in (True, False) for call in self.calls(checked=checked)]
        pids += [int(child.read_text())] if child.exists() else []
        return [pid for pid in pids if _runs(pid)]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return False
