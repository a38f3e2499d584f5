"""The user's yes to a program as the model: which one, and for what."""

from dataclasses import dataclass
from pathlib import Path

ADDRESS = "cli:claude"
"""Stands in LLMAAS_API_URL in the place of an address."""
PROGRAM, PURPOSE = "LIVEMEM_LLM_PROGRAM", "LIVEMEM_LLM_FOR"
MODEL = "claude-code"


@dataclass(frozen=True)
class OwnModelChoice:
    """The program, by the path that was fixed at the yes, and whether it does more than consolidations."""

    program: Path
    for_all: bool = False

    def described(self) -> str:
        """It in the words for a terminal."""
        work = "all but questions" if self.for_all else "folds; fixed rules for the rest"
        return f"Claude Code, {self.program} ({work})"

    def model(self, name: str) -> str:
        """The model's name in records. `name` is the one that the user chose, or empty."""
        return f"{MODEL}/{name}" if name else MODEL


def take_own_model(variables: dict[str, str]) -> bool:
    """Whether the user has chosen a program. `variables` are left without the word for it, which is no address."""
    if variables.get("LLMAAS_API_URL", "").strip().lower() != ADDRESS:
        return False
    variables["LLMAAS_API_URL"] = ""
    variables[PROGRAM] = variables.get(PROGRAM) or "none"
    return True


def read_program(text: str) -> Path:
    """The path of the program. Raises ValueError."""
    if not Path(text).is_absolute():
        raise ValueError(f"{PROGRAM} must be the whole path of the program; `livemem serve --llm claude` finds it.")
    return Path(text)
