"""Which project a former session is of: those of other projects are not for the space of this one."""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from live_memory.cli import repository
from live_memory.cli.imports.chats import Chat


@dataclass(frozen=True)
class Projects:
    """The projects of sessions by the repositories of their folders. `own`: the one whose sessions are taken."""

    own: str
    _of_folder: dict[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> "Projects | None":
        """With the repository that the command runs in. None in no repository: then all sessions are taken."""
        here = repository.of(Path.cwd())
        return cls(here.identity) if here.is_versioned else None

    def is_other(self, chat: Chat) -> bool:
        """Whether a conversation began in a folder of another project. One without a folder did not."""
        return bool(chat.folders) and self._of(chat.folders[0]) != self.own

    def are_several(self) -> bool:
        """Whether the conversations so far are of more than one project."""
        return len(set(self._of_folder.values())) > 1

    def _of(self, folder: str) -> str:
        """Git is asked once for a folder. One that can't be looked at is a project of its own."""
        if folder not in self._of_folder:
            self._of_folder[folder] = folder
            with suppress(OSError, ValueError, RuntimeError):
                if (place := Path(folder)).is_absolute():
                    self._of_folder[folder] = repository.of(place).identity or folder
        return self._of_folder[folder]
