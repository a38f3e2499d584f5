"""`make key`: a bootstrap key and its SHA-256, which is all that the service gets of it.

`make key EXISTING=1` asks for a key that is there already, or reads it from stdin, and prints its SHA-256 alone.
"""

import argparse
import getpass
import sys

from local import admin_key, terminal
from local.config import find_problems
from local.files import new_secret


def main() -> int:
    """Print them, and what is for people on stderr; returns the exit status."""
    terminal.protect()
    parser = argparse.ArgumentParser(prog="make key", description=__doc__)
    parser.add_argument("--existing", action="store_true", help="the SHA-256 of a key that is there already")
    if parser.parse_args().existing:
        return _tell_hash((getpass.getpass("Key: ") if sys.stdin.isatty() else sys.stdin.read()).strip())
    key = new_secret()
    print("Keep the key where you keep passwords: the service is given its SHA-256 alone.", file=sys.stderr)
    print(f"key                     {key}\nAdminBootstrapKeySha256 {admin_key.sha256(key)}")
    return 0


def _tell_hash(key: str) -> int:
    problems = find_problems({"ADMIN_BOOTSTRAP_KEY": key}) if key else ["There is no key."]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(admin_key.sha256(key))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
