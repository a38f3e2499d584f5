"""`python -m local.demo [bug|memories|conversations]`: a story on a service of its own, and an exit status."""

import argparse
import sys

from local import terminal
from local.demo import bug, conversations, memories, stage

STORIES = {"bug": bug.tell, "memories": memories.tell, "conversations": conversations.tell}


def main() -> int:
    """Tell a story; returns the exit status."""
    terminal.protect()
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("story", nargs="?", default="bug", choices=STORIES)
    story = parser.parse_args().story
    return stage.play(STORIES[story], "demo" if story == "bug" else f"demo-{story}")


if __name__ == "__main__":
    sys.exit(main())
