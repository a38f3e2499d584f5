"""What the clients do: agents that write, and people who start runs, correct, undo, delete and create."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.chaos.client import Client, Reply
from benchmarks.chaos.ledger import Ledger, Life, Note
from benchmarks.chaos.llm_door import HEADING
from livemem.spaces.lifecycle import TOMBSTONE_LIFE
from livemem.store.keys import CATEGORIES

THRESHOLD = 8
KEYED_TRIES = 8
REPEATED_ON_PURPOSE = 0.1
"""Of the notes with a key, how many are sent again although they were acknowledged."""
ALIVE_AT_LEAST = 0.6
"""Of the spaces, that part is never deleted at the same time."""
BETWEEN_DELETIONS = 20.0


@dataclass
class Space:
    """A space id; `life` is None while there is none, as far as its clients know."""

    space_id: str
    life: Life | None = None
    gone_at: float = 0.0


@dataclass
class Work:
    """All clients. `paths` are client and token of each agent; the first one is the admin's."""

    clients: list[Client]
    spaces: list[Space]
    ledger: Ledger
    seed: int
    stop: threading.Event = field(default_factory=threading.Event)
    """Ends everything."""
    pause: float = 0.5
    """Mean seconds between two requests of one writer."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _deleted_at: float = 0.0
    _created: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def admin(self) -> Client:
        """Who may do everything."""
        return self.clients[0]

    def start(self, writers: int, operators: int) -> None:
        """Begin."""
        for number in range(writers + operators):
            loop = self._write if number < writers else self._operate
            chance = random.Random(f"{self.seed}-{number}")  # noqa: S311 - no secret
            thread = threading.Thread(target=loop, args=(chance,), name=f"client-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def join(self) -> None:
        """Wait until all have come to their end."""
        for thread in self._threads:
            thread.join(120)

    def alive(self) -> list[Space]:
        """The spaces that are there, as far as is known."""
        return [space for space in self.spaces if space.life]

    def create(self, space: Space) -> bool:
        """Create it, and find out whether that was done."""
        body = {"space_id": space.space_id, "consolidation_threshold": THRESHOLD, "rules": "# Rules\n\nShort lists.\n"}
        reply = self.admin.ask("POST", "/spaces", body)
        self.ledger.count("creations of spaces", reply.code)
        if not reply.ok and reply.code not in {"space_exists", "conflict"} and reply.certain:
            return False
        if reply.code == "conflict":
            return False
        self.resolve(space)
        return space.life is not None

    def resolve(self, space: Space) -> None:
        """Find out whether the space is there."""
        for _ in range(60):
            reply = self.admin.ask("GET", f"/spaces/{space.space_id}")
            if reply.ok:
                uid = reply.body["uid"]
                known = next((life for life in self.ledger.lives if life.uid == uid), None)
                if known is None:
                    known = Life(space.space_id, uid)
                    self.ledger.began(known)
                space.life = known
                return
            if reply.code == "space_not_found":
                space.life = None
                return
            if self.stop.wait(1.0):
                return

    # Writers

    def _write(self, chance: random.Random) -> None:
        kinds: list[Callable[[random.Random, Client, Space, Life], None]] = [self._plain, self._keyed, self._batch]
        while not self.stop.wait(chance.expovariate(1 / self.pause)):
            spaces = self.alive()
            if spaces:
                space = chance.choice(spaces)
                life = space.life
                if life:
                    chance.choices(kinds, [5, 3, 2])[0](chance, chance.choice(self.clients), space, life)

    def _draft(self, chance: random.Random) -> tuple[str, dict[str, Any]]:
        marker = self.ledger.marker("n")
        self.ledger.tried(marker)
        text = f"{marker} {'something was seen ' * chance.randrange(1, 4)}{'x' * chance.randrange(4)}"
        return marker, {"category": chance.choice(CATEGORIES), "content": text}

    def _plain(self, chance: random.Random, client: Client, space: Space, life: Life) -> None:
        marker, draft = self._draft(chance)
        reply = client.ask("POST", f"/spaces/{space.space_id}/notes", draft)
        self.take(reply, [marker], life, "notes without a key")

    def _keyed(self, chance: random.Random, client: Client, space: Space, life: Life) -> None:
        marker, draft = self._draft(chance)
        path, again = f"/spaces/{space.space_id}/notes", chance.random() < REPEATED_ON_PURPOSE
        told: set[str] = set()
        for _ in range(KEYED_TRIES):
            reply = client.ask("POST", path, draft, Idempotency_Key=f"key-{marker}")
            if not told:
                self.take(reply, [marker], life, "notes with a key")
            if reply.ok:
                told.add(reply.body["note_id"])
            if (reply.ok and not again) or (reply.certain and not reply.ok) or space.life is not life:
                break
            again = again and not reply.ok
            if reply.ok and chance.random() < REPEATED_ON_PURPOSE:
                again = True
            if self.stop.wait(chance.uniform(0.1, 4.0)):
                break
        if len(told) > 1:
            self.ledger.two_for_one_key.append(marker)

    def _batch(self, chance: random.Random, client: Client, space: Space, life: Life) -> None:
        drafts = [self._draft(chance) for _ in range(chance.randrange(2, 7))]
        body = {"items": [draft for _, draft in drafts]}
        reply = client.ask("POST", f"/spaces/{space.space_id}/notes", body)
        self.take(reply, [marker for marker, _ in drafts], life, "batches")

    def take(self, reply: Reply, markers: list[str], life: Life, what: str) -> None:
        """Note what was acknowledged, and that it was asked."""
        self.ledger.count(what, reply.code)
        if not reply.ok:
            return
        for marker, note in zip(markers, reply.body.get("items", [reply.body]), strict=True):
            self.ledger.acknowledged(Note(note["note_id"], marker, life))

    # People

    def _operate(self, chance: random.Random) -> None:
        acts: dict[Callable[[random.Random, Space, Life], None], float] = {
            self._run: 20,
            self._rehearse: 3,
            self._correct: 12,
            self._edit: 5,
            self._remove: 4,
            self._rules: 4,
            self._undo: 10,
            self._unpause: 25,
            self._delete: 4,
            self._create: 8,
            self._read: 8,
        }
        while not self.stop.wait(chance.expovariate(1 / (3 * self.pause))):
            space = chance.choice(self.alive() or self.spaces)
            if space.life:
                chance.choices(list(acts), list(acts.values()))[0](chance, space, space.life)

    def _run(self, _: random.Random, space: Space, life: Life) -> None:
        reply = self.admin.ask("POST", f"/spaces/{space.space_id}/consolidations", {})
        self.ledger.count("runs by hand", reply.code)
        if reply.ok:
            self.ledger.runs[reply.body["job"].rpartition(".")[2]] = life

    def _rehearse(self, _: random.Random, space: Space, life: Life) -> None:
        reply = self.admin.ask("POST", f"/spaces/{space.space_id}/consolidations", {"dry_run": True})
        self.ledger.count("dry runs", reply.code)
        if reply.ok:
            self.ledger.runs[reply.body["job"].rpartition(".")[2]] = life

    def _correct(self, chance: random.Random, space: Space, life: Life) -> None:
        marker = self.ledger.marker("c")
        content = f"# By hand\n\n{HEADING}\n\n- {marker}\n"
        reply = self.admin.ask(
            "PUT", f"/spaces/{space.space_id}/bank/by-hand-{chance.randrange(3)}.md", {"content": content}
        )
        self._take_correction(reply, marker, life, "corrections of a file")

    def _edit(self, chance: random.Random, space: Space, life: Life) -> None:
        marker = self.ledger.marker("c")
        edit = {"op": "append_to_section", "heading": HEADING, "content": f"- {marker}"}
        path = f"/spaces/{space.space_id}/bank/{chance.choice(['notes-1.md', 'by-hand-0.md'])}"
        reply = self.admin.ask("PATCH", path, {"edits": [edit], "reason": "It was missing."})
        self._take_correction(reply, marker, life, "corrections of a section")

    def _take_correction(self, reply: Reply, marker: str, life: Life, what: str) -> None:
        self.ledger.count(what, reply.code)
        if reply.ok:
            self.ledger.corrections[marker] = life

    def _remove(self, chance: random.Random, space: Space, _: Life) -> None:
        reply = self.admin.ask("DELETE", f"/spaces/{space.space_id}/bank/by-hand-{chance.randrange(3)}.md")
        self.ledger.count("deletions of a file", reply.code)

    def _rules(self, _: random.Random, space: Space, life: Life) -> None:
        marker = self.ledger.marker("c")
        body = {"rules": f"# Rules\n\nShort lists. {marker}\n"}
        reply = self.admin.ask("PUT", f"/spaces/{space.space_id}/rules", body)
        self._take_correction(reply, marker, life, "changes of the rules")

    def _undo(self, _: random.Random, space: Space, __: Life) -> None:
        info = self.admin.ask("GET", f"/spaces/{space.space_id}/consolidations?limit=10")
        newest = next((item for item in info.body["items"] if not item["undone"]), None) if info.ok else None
        if newest is None or newest["kind"] == "undo":
            return
        reply = self.admin.ask("POST", f"/spaces/{space.space_id}/consolidations/{newest['number']}/undo")
        self.ledger.count("undos", reply.code)

    def _unpause(self, _: random.Random, space: Space, __: Life) -> None:
        info = self.admin.ask("GET", f"/spaces/{space.space_id}")
        if info.ok and info.body["auto_paused"]:
            reply = self.admin.ask("PATCH", f"/spaces/{space.space_id}", {"auto_paused": False})
            self.ledger.count("ends of a pause", reply.code)

    def _delete(self, _: random.Random, space: Space, life: Life) -> None:
        with self._lock:
            if len(self.alive()) <= ALIVE_AT_LEAST * len(self.spaces) + 1:
                return
            if time.monotonic() - self._deleted_at < BETWEEN_DELETIONS:
                return
            self._deleted_at = time.monotonic()
        life.deletion_asked = True
        reply = self.admin.ask("DELETE", f"/spaces/{space.space_id}?confirm={space.space_id}")
        self.ledger.count("deletions of spaces", reply.code)
        self.resolve(space)
        space.gone_at = time.monotonic()

    def _create(self, chance: random.Random, _: Space, __: Life) -> None:
        """The id of a deleted space when it may be free again, else a new one."""
        with self._lock:
            gone = [space for space in self.spaces if not space.life]
            if not gone:
                return
            space = chance.choice(gone)
            missing = len(self.alive()) < len(self.spaces) - self._created
            if missing and time.monotonic() - space.gone_at < TOMBSTONE_LIFE.total_seconds() and chance.random() < 0.5:
                self._created += 1
                space = Space(f"new-{self._created}")
                self.spaces.append(space)
        self.create(space)

    def _read(self, _: random.Random, space: Space, __: Life) -> None:
        for path in ("summary", "notes?limit=20", "runs?limit=10"):
            reply = self.admin.ask("GET", f"/spaces/{space.space_id}/{path}")
            self.ledger.count("reads", reply.code)
