"""The output of a command: its result on stdout, everything else on stderr. JSON if the user asked for it."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from live_memory.cli import texts

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Output:
    """Where a command writes. `styled`: a terminal with colours reads its result; `live`: its messages."""

    json: bool
    is_terminal: Callable[[TextIO], bool]
    environ: Mapping[str, str]

    @property
    def styled(self) -> bool:
        """Whether the result goes to a person's terminal."""
        return not self.json and self.is_terminal(sys.stdout)

    @property
    def live(self) -> bool:
        """Whether there is a terminal for a display that moves."""
        return not self.json and self.is_terminal(sys.stderr)

    def document(self, value: Any) -> None:
        """Print one JSON document."""
        sys.stdout.write(texts.as_json(value, indent=2) + "\n")
        sys.stdout.flush()

    def record(self, value: Any) -> None:
        """One line of JSON of a stream."""
        sys.stdout.write(texts.as_json(value) + "\n")
        sys.stdout.flush()

    def text(self, text: str) -> None:
        """A text as it is. For a terminal, without control characters. Ends with a newline."""
        shown = texts.clean(text) if self.is_terminal(sys.stdout) else text
        sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")
        sys.stdout.flush()

    def result(self, value: Any, show: Callable[[], None]) -> None:
        """The value as JSON, or in the form that `show` makes for people."""
        if self.json:
            self.document(value)
        else:
            show()

    def say(self, text: str) -> None:
        """A message to the user: on stderr, and nothing with `--json`."""
        if not self.json:
            sys.stderr.write(texts.clean(text) + "\n")
            sys.stderr.flush()

    def warn(self, text: str) -> None:
        """A message on stderr that a program's user must see too: also with `--json`."""
        sys.stderr.write(f"livemem: {texts.clean(text)}\n")
        sys.stderr.flush()

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[object]], none: str = "") -> None:
        """A table for a terminal. For a program only the rows, with tabs between columns. `none`: said if there are
        none.
        """
        if none and not rows:
            self.say(none)
            return
        cells = [["" if cell is None else texts.one_line(str(cell)) for cell in row] for row in rows]
        if not self.styled:
            sys.stdout.write("".join("\t".join(row) + "\n" for row in cells))
            sys.stdout.flush()
            return
        from rich.table import Table  # noqa: PLC0415 - only where it is shown
        from rich.text import Text  # noqa: PLC0415

        table = Table(box=None, header_style="bold", pad_edge=False)
        for head in heads:
            table.add_column(head, overflow="fold")
        for row in cells:
            # Text, never a str: rich would read markup in it.
            table.add_row(*[Text(cell) for cell in row])
        self.console().print(table)

    def lines(self, styled: Sequence[tuple[str, str]]) -> None:
        """Lines, each with a style for a terminal."""
        if not self.styled:
            self.text("\n".join(line for line, _ in styled))
            return
        from rich.text import Text  # noqa: PLC0415

        console = self.console()
        for line, style in styled:
            console.print(Text(texts.clean(line), style=style), soft_wrap=True)

    def console(self, *, stderr: bool = False) -> "Console":
        """A rich console that does not read texts of others as markup, emoji or numbers."""
        from rich.console import Console  # noqa: PLC0415

        terminal = self.is_terminal(sys.stderr if stderr else sys.stdout)
        colours = "NO_COLOR" not in self.environ
        return Console(
            stderr=stderr,
            force_terminal=terminal,
            no_color=not colours,
            markup=False,
            emoji=False,
            highlight=False,
        )
