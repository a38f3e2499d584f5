"""Ask whether the locked packages have known vulnerabilities: `make audit`.

pip-audit calls it a success when the database knows nothing of a package, or of all of them. Here that is no answer: a
package that could not be checked is counted, and fails.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LOCKS = (
    "layers/livemem/requirements.txt",
    "layers/search/requirements.txt",
    "layers/mcp/requirements.txt",
    "layers/signin/requirements.txt",
    "requirements-dev.txt",
    "requirements-image.txt",
    "requirements-sam.txt",
    "requirements-audit.txt",
)
EXCEPTIONS: Mapping[str, str] = {}
"""Vulnerabilities that we live with: the id, and why it can't hurt here."""
UNANSWERED = (
    "audit: there was no answer about some packages. pip-audit asks the JSON API of PyPI itself, whatever "
    "index pip uses, so a mirror does not help: let it through (HTTPS_PROXY), or leave it to the workflow, "
    "which audits each push and each release."
)
COMMAND = (
    ".venv-audit/bin/python",
    "-m",
    "pip_audit",
    "--progress-spinner",
    "off",
    "--disable-pip",
    "--require-hashes",
)


@dataclass(frozen=True)
class Verdict:
    """The findings about the packages of one lock."""

    asked: int
    unknown: list[str]
    """Packages that the database knows nothing of."""
    vulnerable: list[str]
    """A line for each vulnerability that is no exception."""
    excused: set[str]
    """Ids of those that are exceptions."""

    @property
    def clean(self) -> bool:
        return bool(self.asked) and not self.unknown and not self.vulnerable


def judge(report: Mapping[str, Any], exceptions: Mapping[str, str]) -> Verdict:
    """The verdict of a report of pip-audit (JSON)."""
    packages: Sequence[Mapping[str, Any]] = report["dependencies"]
    vulnerable, excused = [], set()
    for package in packages:
        for found in package.get("vulns", []):
            known_as = {found["id"], *found.get("aliases", [])} & exceptions.keys()
            excused |= known_as
            if not known_as:
                cure = ", ".join(found.get("fix_versions", [])) or "none"
                vulnerable.append(f"{package['name']} {package['version']}: {found['id']}, fixed in: {cure}")
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    return Verdict(len(packages), unknown, vulnerable, excused)


def tell(lock: str, verdict: Verdict) -> str:
    """The verdict in a few lines."""
    if verdict.clean:
        return f"audit: {lock}: {verdict.asked} packages, no known vulnerability"
    lines = [f"audit: {lock}: {line}" for line in verdict.vulnerable]
    if verdict.unknown or not verdict.asked:
        lines.append(f"audit: {lock}: NOT AUDITED, the database told nothing of {len(verdict.unknown)} packages")
    return "\n".join(lines)


def _ask(lock: str) -> Mapping[str, Any] | None:
    command = [*COMMAND, "--format", "json", "--requirement", lock]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report: Mapping[str, Any] = json.loads(ran.stdout)
    except ValueError:
        print(f"audit: {lock}: NOT AUDITED, the database could not be asked{_reason(ran.stderr)}", file=sys.stderr)
        return None
    return report


def _reason(stderr: str) -> str:
    """The last line of pip-audit's complaint, which names the error."""
    lines = stderr.strip().splitlines()
    return f" ({lines[-1].strip()[:200]})" if lines else ""


def main() -> int:
    """0 if every package of every lock was checked and none is vulnerable."""
    clean, excused, unanswered = True, set[str](), False
    for lock in LOCKS:
        report = _ask(lock)
        verdict = judge(report, EXCEPTIONS) if report is not None else None
        clean &= verdict is not None and verdict.clean
        unanswered |= verdict is None or bool(verdict.unknown) or not verdict.asked
        if verdict:
            excused |= verdict.excused
            print(tell(lock, verdict))
    for known in sorted(excused):
        print(f"audit: {known} is excepted: {EXCEPTIONS[known]}")
    for stale in sorted(EXCEPTIONS.keys() - excused):
        print(f"audit: {stale} was not found: remove it from scripts/audit.py")
    if unanswered:
        print(UNANSWERED, file=sys.stderr)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
