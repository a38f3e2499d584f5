"""Try a model: `python -m local.try_model`. The model is that of the variables LLMAAS_*."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable

from livemem.errors import NotConfigured
from livemem.settings import Settings
from local import terminal
from local.try_model import cases, trial_table
from local.try_model.cases import Case
from local.try_model.given_model import empty_store, given_model
from local.try_model.trial import CaseOutcome, Hopeless, Prices, Trial

FAILED, USAGE, LATER = 1, 2, 6
CODES = {FAILED: "failed", USAGE: "refused", LATER: "model_unusable"}
"""Exit codes, as those of the command line (client/live_memory/cli/exits.py)."""


def main() -> int:
    """Try all cases and print what came out. Returns the exit status."""
    terminal.protect()
    parser = argparse.ArgumentParser(prog="python -m local.try_model", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--case", default="", help="only cases whose name holds this, or of this kind")
    parser.add_argument("--prompt-price", type=float, help="dollars for a million tokens of prompts")
    parser.add_argument("--answer-price", type=float, help="dollars for a million tokens of answers")
    options = parser.parse_args()
    wanted = cases.read(options.case)
    if not wanted:
        return _refuse(f"There is no case {options.case!r}.", USAGE, in_json=options.json)
    given = options.prompt_price, options.answer_price
    prices = Prices(given[0] or 0.0, given[1] or 0.0) if given != (None, None) else None
    try:
        with given_model() as configured:
            outcomes = run(configured, wanted, prices, silent=options.json)
    except NotConfigured as error:
        return _refuse(error.detail, USAGE, in_json=options.json)
    except Hopeless as error:
        return _refuse(str(error), LATER, in_json=options.json)
    if not outcomes:
        return _refuse("No case was finished.", FAILED, in_json=options.json)
    if options.json:
        told = {"model": configured.llmaas_model, "summary": trial_table.summary(outcomes)}
        print(json.dumps(told | {"cases": [one.document() for one in outcomes]}, ensure_ascii=False))
    else:
        print("\n".join(["", f"Model: {configured.llmaas_model}", "", *trial_table.whole(outcomes)]))
    return 0 if any(one.contract != "no" for one in outcomes) else FAILED


def run(settings: Settings, wanted: Iterable[Case], prices: Prices | None, *, silent: bool) -> list[CaseOutcome]:
    """Try the wanted cases, and say at the beginning and at the end of each which it is. Raises Hopeless."""
    outcomes: list[CaseOutcome] = []
    # A slow model may take an hour: what was measured until Ctrl-C is shown.
    with empty_store() as store, contextlib.suppress(KeyboardInterrupt):
        trial = Trial(settings, store, prices)
        for case in wanted:
            if not silent:
                print(f"{case.name} ({case.about}) ...", flush=True)
            outcomes.append(trial.run(case))
            if not silent:
                print(f"{case.name}: {'passed' if outcomes[-1].passed else 'not passed'}", flush=True)
    return outcomes


def _refuse(why: str, status: int, *, in_json: bool) -> int:
    """Say why nothing is shown, on stderr, in the form of all commands (client/live_memory/cli/session.py)."""
    document = {"title": "Failed", "code": CODES[status], "detail": why}
    print(json.dumps(document, ensure_ascii=False) if in_json else why, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
