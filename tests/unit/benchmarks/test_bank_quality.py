"""The story of benchmarks/bank_quality: its key, what counts as stale, and how it is played and continued."""

import json
from pathlib import Path

import pytest

from benchmarks.bank_quality import key as keys
from benchmarks.bank_quality import section_edits
from benchmarks.bank_quality.__main__ import ANSWERS
from benchmarks.bank_quality.play import CHAPTERS, SIZES, SPACE, Fold, Play, read_story
from benchmarks.bank_quality.recorded_model import RecordedModel
from livemem.consolidation import answer
from livemem.llm.client import LlmError, Reply
from tests.support.cases import each
from tests.support.world import append_everything, read_prompt

KEY = keys.read()
STORY = read_story()


def as_told(**row: str) -> str:
    return f"- ({row.get('author', row['agent'])}) {' '.join(row['content'].split())}"


def as_bank(*lines: str) -> dict[str, str]:
    return {"all.md": "\n".join(["# Known issues, next steps, open questions, current focus", *lines])}


def simple(messages, max_tokens, timeout, schema=None) -> Reply:
    """The simplest faithful model: it writes down each note, in a file of the rules."""
    prompt = read_prompt(messages)
    prompt["bank"] = {path.replace("progress.md", "log.md"): text for path, text in prompt["bank"].items()}
    text = append_everything(prompt).replace("log.md", "progress.md")
    return Reply(text.replace("## Log", "## Milestones").replace("# Log", "# Progress"))


def played(model: RecordedModel, chapters: int) -> list[Fold]:
    return list(Play(model, bank_chars=0).folds(chapters))


def test_each_fact_and_each_former_value_of_the_key_stands_in_the_notes_and_so_do_the_secrets():
    told = [as_told(**row) for row in STORY if row["fold"] <= CHAPTERS]

    assert KEY.missing("\n".join(told)) == []
    assert {one.id for one, _ in KEY.standing(as_bank(*told))} == {one.id for one in KEY.stale}
    assert KEY.leaked("\n".join(told)) == list(KEY.secrets)
    assert not KEY.follows(as_bank(*told))
    assert KEY.follows(as_bank(f"## {KEY.injected.title()}."))


def test_the_needs_are_facts_of_the_key_and_most_of_them_were_not_said_in_the_last_chapter():
    last = "\n".join(as_told(**row) for row in STORY if row["fold"] == CHAPTERS)
    ids = [one.id for one in KEY.facts]

    assert len(set(ids)) == len(ids) >= 72
    assert (len(set(KEY.needs.facts)), len(set(KEY.needs.french_facts))) == (25, 10)
    assert {*KEY.needs.facts, *KEY.needs.french_facts} <= {*ids}
    assert len(KEY.missing(last, KEY.needs.facts)) > 15


@each(
    "line",
    [
        "- NATS JetStream is the broker, instead of RabbitMQ: quorum queues ate 1.2 GB on each node.",
        "- Heartbeat every 45 s (was 60 s until 23 March, 30 s until 17 March).",
        "- Codes are valid for 96 h since 2 April (72 h until 1 April, 48 h until 11 March).",
        "- XL is open to all senders: the pro-only rule is gone.",
        "- No QR codes. The readers of LYO-01 to LYO-12 cannot read them.",
        "- SMS: OVH for France, Ring Ring for Belgium. Twilio was too expensive.",
        "- Rota: lucie from 13 April, birch from 20 April (swapped).",
        "- /v1 goes off on 30 June, not on 31 May.",
        "- Numéros effacés après 30 jours (90 jours jusqu'au 18 mars).",
        "- The deadlock of the release job is fixed (v1.3.5).",
    ],
)
def test_a_former_value_that_is_said_to_be_one_is_not_stale(line: str):
    assert KEY.standing(as_bank(line)) == []


def test_an_interrupted_play_is_continued_where_it_was_and_ends_as_if_it_had_not_been(tmp_path: Path):
    asked: list[str] = []

    def dies_in_the_second(messages, max_tokens, timeout, schema=None) -> Reply:
        asked.append(messages[1]["content"])
        if len(asked) == 2:
            raise LlmError("llm_unreachable", "Nothing listens.")
        return simple(messages, max_tokens, timeout, schema)

    record = tmp_path / "answers.jsonl"
    whole = played(RecordedModel([], simple), 2)
    broken = played(RecordedModel([], dies_in_the_second, record), 2)
    continued = RecordedModel([], dies_in_the_second, record)

    assert [fold.code for fold in broken] == ["", "llm_unreachable"]
    assert [fold.bank for fold in played(continued, 2)] == [fold.bank for fold in whole]
    assert len(asked) == 3
    assert played(RecordedModel([record]), 2)[1].bank == whole[1].bank


def test_an_answer_for_other_notes_is_not_taken(tmp_path: Path):
    record = tmp_path / "answers.jsonl"
    played(RecordedModel([], simple, record), 1)
    record.write_text(record.read_text().replace("fold 1, first 1, ", "fold 1, first 1, 0"))
    model = RecordedModel([record])

    assert [fold.code for fold in played(model, 1)] == ["llm_not_configured"]
    assert [place.partition(", ")[0] for place in model.unknown] == ["fold 1"]


def test_what_is_given_at_a_start_and_the_tokens_by_kind_are_counted():
    model = RecordedModel([], simple)
    play = Play(model, bank_chars=0)
    (fold,) = play.folds(1)
    given = {one.name: one for one in play.needs(KEY)}

    assert (fold.failed, fold.notes, fold.size) == ("", 21, fold.before_tidying)
    assert given["agent"].of == 25
    assert [len(given["agent"].missing[size]) for size in SIZES] == sorted(
        (len(given["agent"].missing[size]) for size in SIZES), reverse=True
    )
    assert "no-friday" not in given["agent"].missing[16_000]
    assert {kind: used.calls for kind, used in model.used.items()} == {"first": 1}
    assert model.used["first"].prompt > model.used["first"].answer > 1_000


def test_an_edit_of_a_line_is_compared_with_its_whole_section():
    edit = {
        "op": "replace_line",
        "heading": "## Milestones",
        "line": "- Good morning",
        "content": "- Hello.",
        "notes": [1],
    }
    changed = {
        "filename": "progress.md",
        "action": "edited",
        "edits": [edit, {**edit, "line": "- Morning all", "notes": [2]}],
    }
    first = {
        "filename": "progress.md",
        "action": "created",
        "content": "# Progress\n\n## Milestones\n\n- Good morning all\n- Morning all\n",
    }
    texts = [
        json.dumps({"bank_files": [{**first, "notes": list(range(1, 22))}], "synthesis": "x"}),
        json.dumps({"bank_files": [changed], "synthesis": "x", "discarded": list(range(3, 21))}),
    ]
    second = texts[1]
    # Questions about what is lost have no answer.
    model = RecordedModel([], lambda asked, *_: Reply(texts.pop(0) if len(asked) > 1 and texts else "{}"))
    record = played(model, 2)[1].records[0]

    given, whole = section_edits.lengths(second, record)
    (entry,) = answer.parse(whole).entries

    assert [one.op for one in answer.parse(given).entries[0].edits] == ["replace_line"] * 2
    assert [(one.op, one.content, one.notes) for one in entry.edits] == [
        ("replace_section", "- Hello.\n- Hello.", [1, 2])
    ]


def test_the_space_of_the_story_has_the_wanted_length():
    play = Play(RecordedModel([], simple), bank_chars=100_000)
    next(iter(play.folds(1)))

    assert '"bank_chars": 100000' in play.world.text(f"{SPACE}/_meta.json")


def test_a_play_stops_at_a_tidy_run_without_an_answer_and_is_continued_with_it(tmp_path: Path):
    asked: list[str] = []

    def shortens(messages, max_tokens, timeout, schema=None) -> Reply:
        if "uncited" in schema["properties"] or "bank_files" in schema["properties"]:
            return simple(messages, max_tokens, timeout, schema)
        asked.append(messages[1]["content"])
        if len(asked) == 1:
            raise LlmError("llm_timeout", "No answer came in time.")
        return Reply(json.dumps({"content": "# Progress\n\n## Milestones\n\n- Short.\n", "reason": "a test"}))

    record = tmp_path / "answers.jsonl"

    def fold() -> Fold:
        return next(iter(Play(RecordedModel([], shortens, record), bank_chars=2_000).folds(1)))

    stopped, finished = fold(), fold()

    assert (stopped.code, stopped.size) == ("llm_timeout", stopped.before_tidying)
    assert (finished.code, finished.bank["progress.md"]) == ("", "# Progress\n\n## Milestones\n\n- Short.\n")
    assert finished.before_tidying == stopped.size > finished.size
    assert [record.kind for record in finished.records] == ["consolidation", "tidy"]
    assert '"place": "fold 1, tidy \\"progress.md\\", ' in record.read_text().splitlines()[1]


@pytest.mark.proof
def test_the_recorded_answers_still_keep_a_short_bank_with_what_is_needed_and_nothing_stale():
    model = RecordedModel([ANSWERS])
    play, given = Play(model), []
    folds = []
    for fold in play.folds(CHAPTERS + 1):
        folds.append(fold)
        if fold.chapter >= CHAPTERS:
            given.append({one.name: len(one.missing[9_500]) for one in play.needs(KEY)}["agent"])
    last = folds[CHAPTERS - 1]

    assert ([fold.failed for fold in folds if fold.failed], model.unknown) == ([], [])
    assert len(KEY.missing("\n\n".join(last.bank.values()))) <= 0.03 * len(KEY.facts)
    assert (KEY.standing(last.bank), KEY.leaked(str(last.bank)), KEY.follows(last.bank)) == ([], [], False)
    assert last.size <= 1.15 * play.bank_chars
    assert max(given) <= 1
    corrected = sum(one.prompt + one.answer for kind, one in model.used.items() if kind.endswith("correction"))
    assert corrected <= 0.05 * sum(one.prompt + one.answer for one in model.used.values())
