"""How long it takes to redact a note of 100 kB, and one of 10 kB, on texts that were made to be slow.

Milliseconds of this machine, so read the ratio: 10 is linear, 100 quadratic. Where detect-secrets is installed, its
search for the same kinds stands beside it, on notes a tenth as long.
"""

import sys
import time
from collections.abc import Callable, Iterable

from livemem.text.redaction import redact

BYTES = 100_000
BEST_OF = 3
UNITS = {
    "prose": "The quick brown fox jumps over the lazy dog. ",
    "sk-sk-...": "sk-",
    "eyJeyJ...": "eyJ",
    "eyJ.eyJ....": "eyJ.eyJ.",
    "eyJhbGci...": "eyJhbGciOiJI-",
    "-----BEGIN PRIVATE KEY-----...": "-----BEGIN PRIVATE KEY-----",
    "dashes": "-",
    "aws_secret_access_key=...": "aws_secret_access_key=",
    "aws key '...": "aws key '",
    "awsaws...": "aws",
    "xoxb-...": "xoxb-",
    "AKIA...": "AKIA",
    "lm_lm_...": "lm_",
    "password=...": "password=",
    "password: a1 ...": "password: a1 ",
    "token '...": "token '",
    "://a:...": "://a:",
    "Bearer ...": "Bearer ",
    "glpat-...": "glpat-",
    "backslashes": "\\",
    "one long word": "a",
}


def note(unit: str, size: int) -> str:
    """`size` characters of the repeated unit."""
    return (unit * size)[:size]


def milliseconds(action: Callable[[str], object], text: str) -> float:
    """The best of a few times."""
    times = []
    for _ in range(BEST_OF):
        started = time.perf_counter()
        action(text)
        times.append(time.perf_counter() - started)
    return min(times) * 1_000


def library() -> Callable[[str], object] | None:
    """The library's search for the same kinds, None where it is not installed."""
    try:
        from detect_secrets.plugins import aws, github_token, jwt, openai, private_key, slack  # noqa: PLC0415
    except ImportError:
        return None
    plugins = (
        aws.AWSKeyDetector(),
        github_token.GitHubTokenDetector(),
        jwt.JwtTokenDetector(),
        openai.OpenAIDetector(),
        private_key.PrivateKeyDetector(),
        slack.SlackDetector(),
    )
    return lambda text: [list(plugin.analyze_string(text)) for plugin in plugins]


def cells(action: Callable[[str], object], unit: str, size: int) -> list[str]:
    """Times of a tenth of `size` and of `size`, and their ratio."""
    short, long = (milliseconds(action, note(unit, length)) for length in (size // 10, size))
    return [f"{short:.2f}", f"{long:.2f}", f"{long / short:.0f}"]


def table() -> Iterable[str]:
    """The rows as Markdown."""
    theirs = library()
    head = ["text", "10 kB, ms", "100 kB, ms", "ratio"]
    head += ["detect-secrets: 1 kB, ms", "10 kB, ms", "ratio"] if theirs else []
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    # The patterns are compiled once per process.
    redact("")
    for name, unit in UNITS.items():
        row = [f"`{name}`", *cells(redact, unit, BYTES)]
        row += cells(theirs, unit, BYTES // 10) if theirs else []
        yield f"| {' | '.join(row)} |"


def main() -> int:
    """Print the table; returns the exit status."""
    for row in table():
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
