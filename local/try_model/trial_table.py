"""The outcomes of a trial as a table, and in all."""

from collections import Counter
from collections.abc import Iterable, Sequence
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
    kept = Counter(one.contract for one in outcomes)
    spoken = [(int(one.language), 1) for one in outcomes if one.language is not None]
    tokens = ("prompt_tokens", "completion_tokens", "estimated_tokens")
    return {
        "cases": len(outcomes),
        "passed": sum(one.passed for one in outcomes),
        "contract_first_try": kept["first"],
        "contract_corrected": kept["corrected"],
        "contract_not_kept": kept["no"],
        "cited": _sum(one.cited for one in outcomes),
        "right": _sum(one.right for one in outcomes),
        "language": _sum(spoken),
        **{name: sum(getattr(one, name) for one in outcomes) for name in tokens},
        "seconds": round(sum(one.seconds for one in outcomes), 2),
        "dollars": round(sum(priced), 6) if priced else None,
    }


def _sum(pairs: Iterable[tuple[int, int] | None]) -> list[int]:
    found = [pair for pair in pairs if pair]
    return [sum(good for good, _ in found), sum(all_ for _, all_ in found)]


def table(outcomes: Sequence[CaseOutcome]) -> list[str]:
    """Lines of Markdown: a row for each case, and what was wrong."""
    priced = any(one.dollars is not None for one in outcomes)
    rows = [(*HEADINGS, "dollars"), *map(_row, outcomes)]
    columns = list(zip(*rows, strict=True))[: None if priced else -1]
    widths = [max(map(len, column)) for column in columns]
    rows.insert(1, tuple("-" * width for width in widths))
    wrong = [f"- {one.name}: {'; '.join(filter(None, [one.error, *one.wrong]))}" for one in outcomes]
    wrong = [line for line in wrong if not line.endswith(": ")]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) for row in rows]
    return [*(f"| {line} |" for line in lines), *(["", "Not managed:", *wrong] if wrong else [])]


def _row(one: CaseOutcome) -> tuple[str, ...]:
    tokens = one.prompt_tokens + one.completion_tokens
    counted = str(tokens) if tokens else f"~{one.estimated_tokens}"
    spoken = {None: "-", True: "yes", False: "NO"}[one.language]
    parts = (one.name, _KEPT[one.contract], _pair(one.cited), _pair(one.right), spoken, counted, f"{one.seconds:.1f}")
    return (*parts, f"{one.dollars or 0:.4f}")


def _pair(pair: Sequence[int] | None) -> str:
    return "-" if pair is None else f"{pair[0]}/{pair[1]}"


def sums(outcomes: Sequence[CaseOutcome]) -> list[str]:
    """The sums as sentences."""
    all_ = summary(outcomes)
    cost = f", {all_['dollars']:.4f} dollars" if all_["dollars"] is not None else ""
    managed = (
        f"{all_['passed']} of {all_['cases']} cases passed. Contract: {all_['contract_first_try']} at the first try, "
        f"{all_['contract_corrected']} corrected, {all_['contract_not_kept']} not kept."
    )
    used = f"{all_['prompt_tokens']} tokens of prompts, {all_['completion_tokens']} of answers"
    reached = f"Cited {_pair(all_['cited'])}, values {_pair(all_['right'])}, language {_pair(all_['language'])}."
    return [managed, f"{reached} {used}, {all_['seconds']:.1f} s{cost}."]
