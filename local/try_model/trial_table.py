"""The outcomes of a trial as a table, and in all."""

from collections.abc import Sequence
from typing import Any

from local.try_model.trial import CaseOutcome

_KEPT = {"first": "first try", "corrected": "corrected", "no": "NO"}
HEADINGS = ("case", "contract", "cited", "value", "language", "tokens", "seconds")


def whole(outcomes: Sequence[CaseOutcome]) -> list[str]:
    """Lines of Markdown: the table, and the sums as sentences."""
    return [*table(outcomes), "", *sums(outcomes)]


def summary(outcomes: Sequence[CaseOutcome]) -> dict[str, Any]:
    """The sums over all cases."""
    priced = [one.dollars for one in outcomes if one.dollars is not None]
    return {
        "cases": len(outcomes),
        "passed": sum(one.passed for one in outcomes),
        "contract_first_try": sum(one.contract == "first" for one in outcomes),
        "contract_corrected": sum(one.contract == "corrected" for one in outcomes),
        "contract_not_kept": sum(one.contract == "no" for one in outcomes),
        "cited": _sum(one.cited for one in outcomes),
        "right": _sum(one.right for one in outcomes),
        "language": _sum((int(one.language), 1) for one in outcomes if one.language is not None),
        "prompt_tokens": sum(one.prompt_tokens for one in outcomes),
        "completion_tokens": sum(one.completion_tokens for one in outcomes),
        "estimated_tokens": sum(one.estimated_tokens for one in outcomes),
        "seconds": round(sum(one.seconds for one in outcomes), 2),
        "dollars": round(sum(priced), 6) if priced else None,
    }


def _sum(pairs: Any) -> list[int]:
    found = [pair for pair in pairs if pair]
    return [sum(good for good, _ in found), sum(all_ for _, all_ in found)]


def table(outcomes: Sequence[CaseOutcome]) -> list[str]:
    """Lines of Markdown: a row for each case, what was wrong, and the sums."""
    priced = any(one.dollars is not None for one in outcomes)
    headings = [*HEADINGS, *(["dollars"] if priced else [])]
    rows = [headings, *(_row(one, priced=priced) for one in outcomes)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(headings))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    wrong = [f"- {one.name}: {'; '.join([*([one.error] if one.error else []), *one.wrong])}" for one in outcomes]
    return [
        *lines,
        *(["", "Not managed:", *[line for line in wrong if not line.endswith(": ")]] if _any(outcomes) else []),
    ]


def _any(outcomes: Sequence[CaseOutcome]) -> bool:
    return any(one.error or one.wrong for one in outcomes)


def _row(one: CaseOutcome, *, priced: bool) -> list[str]:
    tokens = one.prompt_tokens + one.completion_tokens
    counted = str(tokens) if tokens else f"~{one.estimated_tokens}"
    spoken = {None: "-", True: "yes", False: "NO"}[one.language]
    cells = [one.name, _KEPT[one.contract], _pair(one.cited), _pair(one.right), spoken, counted, f"{one.seconds:.1f}"]
    return [*cells, *([f"{one.dollars or 0:.4f}"] if priced else [])]


def _pair(pair: tuple[int, int] | None) -> str:
    return "-" if pair is None else f"{pair[0]}/{pair[1]}"


def sums(outcomes: Sequence[CaseOutcome]) -> list[str]:
    """The sums as sentences."""
    all_ = summary(outcomes)
    cost = f", {all_['dollars']:.4f} dollars" if all_["dollars"] is not None else ""
    managed = (
        f"{all_['passed']} of {all_['cases']} cases passed. Contract: {all_['contract_first_try']} at the first try, "
        f"{all_['contract_corrected']} corrected, {all_['contract_not_kept']} not kept."
    )
    used = (
        f"Cited {_pair(tuple(all_['cited']))}, values {_pair(tuple(all_['right']))}, language "
        f"{_pair(tuple(all_['language']))}. {all_['prompt_tokens']} tokens of prompts, {all_['completion_tokens']} of "
        f"answers, {all_['seconds']:.1f} s{cost}."
    )
    return [managed, used]
