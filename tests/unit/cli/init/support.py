"""What the tests of `init` share: a project in a folder of its own, random files as people write them."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from live_memory.cli import repository
from live_memory.cli.init import clients, plan, record
from live_memory.cli.init.accepted import Accepted
from live_memory.cli.init.setup import Setup

CLIENTS = tuple(clients.CLIENTS)
URL = "https://memory.example.org"


@dataclass
class Desk:
    """A user with a home, a project and a state folder."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environ["LIVEMEM_STATE"] = str(self.root / "state")
        for folder in (self.home, self.project):
            folder.mkdir(parents=True)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "home" / "ferry"

    def setup(self, **changes: Any) -> Setup:
        made = Setup("demo", URL, "project", self.project, self.home, "linux", self.environ)
        return replace(made, **changes)

    def init(self, client: str, **changes: Any) -> plan.Plan:
        setup = self.setup(**changes)
        kept = self.kept(client, setup)
        drawn = plan.draw_up(clients.fitting(client, setup).places, record.load(kept))
        plan.carry_out(drawn, kept)
        self.accept(client, setup.space, setup)
        return drawn

    def undo(self, client: str, **changes: Any) -> plan.Plan:
        setup = self.setup(token="", allow_reading=True, **changes)
        kept = self.kept(client, setup)
        drawn = plan.draw_up(clients.fitting(client, setup).places, record.load(kept), undo=True)
        plan.take_back(drawn, kept)
        self.accept(client, None, setup)
        return drawn

    def accept(self, client: str, space_id: str | None, setup: Setup | None = None) -> None:
        setup = setup or self.setup()
        here = repository.of(setup.project) if setup.scope == "project" else None
        Accepted(self.environ).keep(here, client, space_id)

    def kept(self, client: str, setup: Setup) -> Path:
        return record.path_of(self.environ, client, setup.scope, setup.root)

    def forget(self) -> None:
        """What another machine has: no record of what was done."""
        for path in (self.root / "state").rglob("*.json"):
            path.unlink()

    def tree(self) -> dict[str, bytes | None]:
        """All files of the home with their bytes, all folders with None."""
        return {
            str(path.relative_to(self.home)): path.read_bytes() if path.is_file() else None
            for path in self.home.rglob("*")
        }

    def write(self, relative: str, text: str) -> Path:
        path = self.project / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def read(self, relative: str) -> str:
        return (self.project / relative).read_bytes().decode()

    def json(self, relative: str) -> Any:
        return json.loads(self.read(relative).removeprefix("\ufeff"))


@contextmanager
def desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory() as folder:
        yield Desk(Path(folder))


_NAMES = st.sampled_from(
    ["mcpServers", "hooks", "Stop", "stop", "version", "livemem", "permissions", "allow", "inputs", "é", "a.b", ""]
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8)
    | st.sampled_from(["// no comment", "mcp__livemem__search", "{", '"', "\\", "\n", "<!-- livemem:begin -->"])
)
VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(_NAMES, VALUES, max_size=4)


@st.composite
def json_texts(draw: st.DrawFn, documents: st.SearchStrategy[dict[str, Any]] = OBJECTS) -> str:
    """JSON as different programs and people write it."""
    document = draw(documents)
    text = json.dumps(
        document,
        indent=draw(st.sampled_from([None, 2, 4, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    )
    text = draw(st.sampled_from(["", "\ufeff", "\n ", "\t"])) + text + draw(st.sampled_from(["", "\n", "\n\n", "  "]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


_LINES = st.sampled_from(
    [
        "# Title",
        "",
        "- item",
        "```",
        "text with `code`",
        "<!-- a comment -->",
        "livemem",
        "  indented",
        "\u2028 odd",
        "\x0c",
        "é",
        "---",
    ]
)


@st.composite
def markdown_texts(draw: st.DrawFn) -> str:
    eol = draw(st.sampled_from(["\n", "\r\n"]))
    return eol.join(draw(st.lists(_LINES, max_size=8))) + draw(st.sampled_from(["", eol, eol * 2, eol * 3]))


_TOML_LINES = st.lists(
    st.sampled_from(
        [
            "# a comment",
            "",
            'model = "gpt"  # which',
            "[features]",
            "hooks = true",
            "[mcp_servers.other]",
            'url = "https://example.org"',
            "[mcp_servers]",
            "[projects.'/home/ann']",
            'trust_level = "trusted"',
            "[[profiles]]",
            "mcp_servers = {}",
            "mcp_servers.other = { url = 'x' }",
            "[mcp_servers.livemem]",
            "x = [1,\n 2]",
            'notify = ["a", """b\n# livemem:begin\n"""]',
        ]
    ),
    max_size=8,
)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    text = "\n".join(draw(_TOML_LINES)) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text
