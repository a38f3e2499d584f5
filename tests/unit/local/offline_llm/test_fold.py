from collections.abc import Sequence
from dataclasses import replace

import pytest

from local.offline_llm.chat import complete_chat
from local.offline_llm.entries import Note, read_note
from tests.support.cases import each
from tests.unit.local.offline_llm.support import (
    FRENCH,
    JOURNAL,
    RESEARCH,
    STANDARD,
    SUPPORT,
    accounted,
    apply_answer,
    fold,
    fold_into,
    headings,
    make_note,
    prompt,
    section,
)


def notes(*rows: tuple[str, str], day: str = "2026-11-21") -> list[Note]:
    return [make_note(number, category, content, day=day) for number, (category, content) in enumerate(rows, 1)]


def bank_of(rules: str, *batches: Sequence[Note]) -> dict[str, str]:
    bank: dict[str, str] = {}
    for batch in batches:
        bank = fold_into(bank, rules, batch)
    return bank


# Where notes go


@each(
    ("category", "content", "filename", "heading"),
    [
        ("todo", "Write the benchmark of the store.", "activeContext.md", "## Next steps"),
        ("question", "Which region do we deploy to?", "activeContext.md", "## Open questions"),
        ("issue", "The store loses its connection at night.", "progress.md", "## Known issues"),
        ("progress", "The store reads 500 notes in parallel.", "progress.md", "## Milestones"),
        ("insight", "Small steps find errors sooner.", "progress.md", "## Lessons learned"),
        ("decision", "We take the smaller of both, because it is simpler.", "systemPatterns.md", "## Decisions"),
        ("decision", "Each role has a policy that denies other permissions.", "systemPatterns.md", "## Decisions"),
        ("decision", "Packages are pinned with a lock of all dependencies.", "systemPatterns.md", "## Decisions"),
        ("observation", "Reading a page takes 12 ms.", "techContext.md", "## Measurements"),
        ("nonsense", "Reading a page takes 12 ms.", "techContext.md", "## Measurements"),
    ],
)
def test_a_note_goes_to_the_section_of_its_category_and_subject(
    category: str, content: str, filename: str, heading: str
) -> None:
    bank = bank_of(STANDARD, notes((category, content)))
    assert content in section(bank[filename], heading)


@each(
    ("rules", "category", "content", "filename", "heading"),
    [
        (RESEARCH, "observation", "Li (2024) reports that caches halve the load.", "findings.md", "## Observations"),
        (RESEARCH, "issue", "Li and Doe disagree on the rate: 12 % and 30 %.", "findings.md", "## Contradictions"),
        (RESEARCH, "insight", "The load depends on the cache alone.", "findings.md", "## Conclusions"),
        (RESEARCH, "decision", "Three runs each, because one varies by 20 %.", "method.md", "## Decisions"),
        (RESEARCH, "progress", "The search for papers is finished: 31 found.", "method.md", "## Milestones"),
        (RESEARCH, "todo", "Read the thesis of Kim.", "plan.md", "## Next steps"),
        (RESEARCH, "question", "Which sample did Doe use?", "plan.md", "## Open questions"),
        (SUPPORT, "observation", "The import takes at most 10 MB by default.", "answers.md", "## How it behaves"),
        (SUPPORT, "issue", "The login fails with error 503 since 4.2.", "knownIssues.md", "## Issues"),
        (SUPPORT, "progress", "The login is mended in 4.2.1, verified.", "knownIssues.md", "## Milestones"),
        (SUPPORT, "todo", "Call Ms Meyer on Monday.", "cases.md", "## Next steps"),
        (SUPPORT, "question", "Which version does case 4711 run?", "cases.md", "## Open questions"),
        (SUPPORT, "decision", "Refunds go to the team lead, for they cost.", "practice.md", "## Decisions"),
        (SUPPORT, "insight", "Asking for the log first saves a day.", "practice.md", "## Lessons learned"),
    ],
)
def test_a_note_finds_its_place_in_the_templates_for_other_work(
    rules: str, category: str, content: str, filename: str, heading: str
) -> None:
    bank = bank_of(rules, notes((category, content)))
    assert content in section(bank[filename], heading)


@each(
    ("category", "content", "filename", "heading"),
    [
        ("todo", "Écrire le test de charge.", "contexteActif.md", "## Prochaines étapes"),
        ("question", "Quelle région pour la sauvegarde ?", "contexteActif.md", "## Questions ouvertes"),
        ("issue", "Le service perd sa connexion la nuit.", "avancement.md", "## Problèmes connus"),
        ("progress", "L'import lit 500 notes en parallèle.", "avancement.md", "## Jalons"),
        ("insight", "De petits pas trouvent les erreurs plus tôt.", "avancement.md", "## Leçons apprises"),
        ("decision", "Nous prenons SQLite, c'est plus simple.", "systeme.md", "## Décisions"),
        ("observation", "La lecture d'une page prend 12 ms.", "technique.md", "## Mesures"),
    ],
)
def test_a_note_finds_its_place_in_french_rules(category: str, content: str, filename: str, heading: str) -> None:
    assert content in section(bank_of(FRENCH, notes((category, content)))[filename], heading)


def test_an_entry_has_the_day_on_which_it_was_said_and_who_said_it() -> None:
    said = [read_note([1, "2026-02-03 09:15", "bot", "issue", "It hangs.", {"author": "Léa"}])]
    bank = fold_into({}, STANDARD, said)
    assert section(bank["progress.md"], "## Known issues") == "- It hangs. (2026-02-03, Léa)"
    assert "## 2026-02-03" in fold_into({}, JOURNAL, said)["journal.md"]


def test_the_language_of_the_prompt_goes_before_that_of_the_rules() -> None:
    asked = prompt(STANDARD, {}, notes(("issue", "X.")))
    answers = {
        more: complete_chat({"model": "m", "messages": [{"role": "user", "content": f"{more}\n{asked}"}]})
        for more in ("", 'Write bank and synthesis in the language "fr-CA".')
    }
    french = ["Problèmes connus" in one["choices"][0]["message"]["content"] for one in answers.values()]
    assert french == [False, True]


def test_the_first_consolidation_creates_all_files_of_the_rules_even_without_notes_for_them() -> None:
    answer = fold(STANDARD, {}, notes(("todo", "Begin.")))
    assert [file["action"] for file in answer["bank_files"]] == ["created"] * 6


def test_files_without_news_are_left_out() -> None:
    bank = bank_of(STANDARD, notes(("todo", "Begin.")))
    answer = fold(STANDARD, bank, notes(("issue", "It hangs.")))
    assert [(file["filename"], file["action"]) for file in answer["bank_files"]] == [("progress.md", "edited")]


def test_rules_without_files_give_one_file_with_a_section_per_category_in_use() -> None:
    bank = bank_of("Be brief.", notes(("todo", "Begin."), ("issue", "It hangs.")), notes(("decision", "Stop.")))
    assert list(bank) == ["notes.md"]
    assert headings(bank["notes.md"]) == ["# Notes", "## To do", "## Known issues", "## Decisions"]


def test_files_without_sections_draw_notes_by_their_names() -> None:
    rules = "- `decisions.md`: what was agreed\n- `todo.md`: open tasks\n- `log.md`: all other observations"
    bank = bank_of(rules, notes(("todo", "Begin."), ("decision", "Use S3."), ("observation", "It rains.")))
    assert "Begin." in bank["todo.md"]
    assert "Use S3." in bank["decisions.md"]
    assert "It rains." in bank["log.md"]


def test_sections_that_fit_no_category_draw_notes_by_their_subject() -> None:
    rules = (
        "## novel.md\n- `## Characters`: people, their looks and habits\n- `## Plot`: events and turns of the story\n"
    )
    bank = bank_of(
        rules, notes(("decision", "The story turns when the bridge falls."), ("decision", "Both people limp."))
    )
    assert "bridge" in section(bank["novel.md"], "## Plot")
    assert "limp" in section(bank["novel.md"], "## Characters")


# The journal


def test_a_journal_has_the_newest_day_first_and_late_notes_under_their_own_day() -> None:
    bank = bank_of(
        JOURNAL,
        notes(("progress", "B works."), day="2026-11-20"),
        notes(("progress", "C works."), day="2026-11-22"),
        notes(("progress", "A works."), day="2026-11-19"),
        [make_note(1, "decision", "Late.", day="2026-11-20"), make_note(2, "issue", "New.", day="2026-11-21")],
    )
    lines = headings(bank["journal.md"])
    assert [line for line in lines if line.startswith("## ")] == [
        "## 2026-11-22",
        "## 2026-11-21",
        "## 2026-11-20",
        "## 2026-11-19",
    ]
    assert "Late." in section(bank["journal.md"], "# Journal > ## 2026-11-20 > ### Decided")


def test_a_new_day_comes_behind_the_introduction_that_a_person_wrote() -> None:
    bank = {"journal.md": "# Journal\n\nOur days.\n\n## 2026-11-20\n\n### Done\n\n- Old.\n"}
    after = fold_into(bank, JOURNAL, notes(("progress", "New.")))["journal.md"]
    assert after == (
        "# Journal\n\nOur days.\n\n## 2026-11-21\n\n### Done\n\n- New. (2026-11-21, core-dev)\n\n"
        "## 2026-11-20\n\n### Done\n\n- Old.\n"
    )


def test_what_is_open_in_a_journal_leaves_with_the_day_that_closes_it() -> None:
    first = notes(("todo", "Pin all packages."), ("issue", "The build breaks at night."), day="2026-11-20")
    bank = bank_of(JOURNAL, first)
    assert "- Pin all packages. (2026-11-20, core-dev)" in bank["journal.md"]
    after = fold_into(bank, JOURNAL, notes(("progress", "Done: pin all packages.")))["journal.md"]
    assert section(after, "# Journal > ## 2026-11-21 > ### Done") == (
        "- Done: pin all packages. (2026-11-21, core-dev)"
    )
    assert section(after, "# Journal > ## 2026-11-20 > ### Open") == (
        "- The build breaks at night. (2026-11-20, core-dev)"
    )


# Closing


def test_a_done_todo_leaves_the_open_ones_and_stands_with_the_results() -> None:
    bank = bank_of(STANDARD, notes(("todo", "Pin the packages with hashes."), ("todo", "Write the guide.")))
    answer = fold(STANDARD, bank, notes(("progress", "Done: the packages are pinned with hashes, 99 of them.")))
    after = apply_answer(bank, answer)
    assert section(after["activeContext.md"], "## Next steps") == "- Write the guide. (2026-11-21, core-dev)"
    assert section(after["progress.md"], "## Milestones") == (
        "- Done: the packages are pinned with hashes, 99 of them. (2026-11-21, core-dev)"
    )
    assert all(file["reason"] for file in answer["bank_files"] if file["filename"] == "activeContext.md")


@each(
    ("opened", "closing"),
    [
        (("todo", "Pin the packages with hashes."), ("todo", "Done: pin the packages with hashes")),
        (("question", "Which region do we deploy to?"), ("decision", "Answer: the region we deploy to is Paris.")),
        (("issue", "The store drops connections."), ("progress", "Fixed: the store drops no more connections.")),
    ],
)
def test_an_open_entry_is_closed_by_a_note_that_says_so(opened: tuple[str, str], closing: tuple[str, str]) -> None:
    for bank in (bank_of(STANDARD, notes(opened), notes(closing)), bank_of(STANDARD, notes(opened, closing))):
        text = "\n".join(bank.values())
        assert not [line for line in text.split("\n") if line.startswith(f"- {opened[1]} (2026-11-21, core-dev)")]
        assert closing[1] in text


@each(
    "closing",
    [
        ("progress", "The packages with hashes are not pinned yet, which is to be done."),
        ("progress", "Half done: nothing else."),
        ("progress", "The guide is finished."),
        ("observation", "The packages with hashes are pinned: done."),
        ("todo", "Check that the packages with hashes stay pinned when done."),
        ("progress", "We pin the packages with hashes soon."),
    ],
)
def test_an_open_todo_stays_open_unless_a_note_says_that_it_is_done(closing: tuple[str, str]) -> None:
    opened = ("todo", "Pin the packages with hashes.")
    bank = bank_of(STANDARD, notes(opened), notes(closing))
    assert "- Pin the packages with hashes. (2026-11-21, core-dev)" in section(
        bank["activeContext.md"], "## Next steps"
    )


def test_a_section_whose_last_entry_leaves_keeps_its_heading_and_takes_the_next_one() -> None:
    bank = bank_of(STANDARD, notes(("todo", "Run the checks.")), notes(("progress", "Done: run the checks.")))
    assert section(bank["activeContext.md"], "## Next steps") == ""
    after = fold_into(bank, STANDARD, notes(("todo", "Sleep.")))
    assert section(after["activeContext.md"], "## Next steps") == "- Sleep. (2026-11-21, core-dev)"


def test_an_entry_of_several_lines_or_one_that_stands_twice_leaves_too() -> None:
    long = "* Pin the packages\n  with hashes\n* Sleep"
    twice = "- Pin the packages with hashes\n- Sleep\n\n### Later\n\n- Pin the packages with hashes"
    for tasks in (long, twice):
        bank = {"activeContext.md": f"# Active context\n\n## Next steps\n\n{tasks}\n"}
        after = fold_into(bank, STANDARD, notes(("progress", "Done: pin the packages with hashes")))
        assert after["activeContext.md"].count("with hashes") == tasks.count("with hashes") - 1
        assert "Sleep" in section(after["activeContext.md"], "## Next steps")


@each(
    ("opened", "closing"),
    [
        (
            ("todo", "Épingler les paquets avec leurs empreintes."),
            ("progress", "Fait : paquets épinglés avec leurs empreintes."),
        ),
        (
            ("question", "Quelle région pour la sauvegarde ?"),
            ("decision", "Réponse : la région de sauvegarde est Paris."),
        ),
        (("issue", "Le service coupe sa connexion."), ("progress", "Corrigé : coupe de connexion du service.")),
    ],
)
def test_an_open_entry_is_closed_in_french_too(opened: tuple[str, str], closing: tuple[str, str]) -> None:
    bank = bank_of(FRENCH, notes(opened), notes(closing))
    text = "\n".join(bank.values())
    assert f"\n- {opened[1]}" not in text
    assert closing[1] in text


@each(
    "closing",
    [
        ("progress", "La connexion du service n'est pas encore corrigée."),
        ("progress", "La connexion du service sera bientôt corrigée, quand nous aurons le temps."),
        ("observation", "Le service perd toujours sa connexion."),
        ("insight", "Fait divers : le service change."),
    ],
)
def test_an_issue_stays_open_in_french_unless_a_note_says_that_it_is_over(closing: tuple[str, str]) -> None:
    issue = "Le service perd sa connexion."
    bank = bank_of(FRENCH, notes(("issue", issue)), notes(closing))
    assert f"- {issue}" in section(bank["avancement.md"], "## Problèmes connus")


def test_a_file_of_the_bank_keeps_its_name_where_the_rules_spell_it_otherwise() -> None:
    bank = {"Progress.md": "# Progress\n"}
    after = fold_into(bank, "- `progress.md`: what works", notes(("progress", "It runs.")))
    assert list(after) == ["Progress.md"]


def test_a_todo_closed_in_its_own_batch_is_cited_where_its_result_stands() -> None:
    answer = fold(STANDARD, {}, notes(("todo", "Pin the packages."), ("progress", "Done: pin the packages.")))
    assert accounted(answer) == [1, 2]
    (edit,) = [edit for file in answer["bank_files"] for edit in file.get("edits", [])]
    assert (edit["heading"], edit["notes"]) == ("## Milestones", [1, 2])


def test_tasks_in_a_bank_that_somebody_else_wrote_are_closed_too() -> None:
    tasks = "* [ ] Pin the packages\n  with hashes\n* [ ] Sleep"
    bank = {"activeContext.md": f"# Active\n\n### Next Steps:\n\n{tasks}\n\nProse.\n"}
    after = fold_into(bank, STANDARD, notes(("progress", "Done: pin the packages with hashes")))
    assert section(after["activeContext.md"], "### Next Steps:") == "* [ ] Sleep\n\nProse."
    assert "- Done: pin the packages with hashes (2026-11-21, core-dev)" in after["progress.md"]


def test_notes_are_taken_in_the_order_of_their_days() -> None:
    batch = [
        make_note(1, "progress", "Done: run the checks.", day="2026-11-21"),
        make_note(2, "todo", "Run the checks.", day="2026-11-20"),
    ]
    answer = fold(STANDARD, {}, batch)
    (edit,) = [edit for file in answer["bank_files"] for edit in file.get("edits", [])]
    assert (edit["heading"], edit["notes"]) == ("## Milestones", [1, 2])


# Repeats


def test_an_exact_repeat_confirms_its_section_and_one_of_another_note_is_discarded() -> None:
    bank = bank_of(STANDARD, notes(("decision", "Use S3 alone.")))
    answer = fold(
        STANDARD, bank, notes(("decision", "use  S3 alone"), ("issue", "It hangs."), ("insight", "It hangs."))
    )
    assert answer["discarded"] == [{"note": 3, "reason": "Repeats note 2."}]
    (edits,) = [file["edits"] for file in answer["bank_files"] if file["filename"] == "systemPatterns.md"]
    assert edits == [{"op": "confirm_section", "heading": "## Decisions", "notes": [1]}]


def test_work_that_is_asked_for_again_after_it_was_done_is_no_repeat() -> None:
    bank = bank_of(STANDARD, notes(("todo", "Run the checks."), ("progress", "Done: all checks were run.")))
    after = fold_into(bank, STANDARD, notes(("todo", "Run the checks."), day="2026-11-22"))
    assert "- Run the checks. (2026-11-22, core-dev)" in section(after["activeContext.md"], "## Next steps")


def test_an_empty_note_is_discarded() -> None:
    answer = fold(STANDARD, {}, notes(("decision", " \x00\n")))
    assert [entry["note"] for entry in answer["discarded"]] == [1]


# Files as they come


def test_a_section_that_the_file_lacks_is_added_behind_the_others() -> None:
    bank = {"progress.md": "# Progress\n\n## Milestones\n\nMuch.\n\n## Own section\n"}
    answer = fold(STANDARD, bank, notes(("issue", "It hangs.")))
    (edit,) = [edit for file in answer["bank_files"] for edit in file.get("edits", [])]
    assert (edit["op"], edit["heading"]) == ("add_section", "# Progress > ## Known issues")
    after = apply_answer(bank, answer)["progress.md"]
    assert headings(after) == ["# Progress", "## Milestones", "## Own section", "## Known issues"]


def test_a_heading_that_occurs_twice_is_addressed_by_its_path() -> None:
    bank = {"progress.md": "# Progress\n\n## Milestones\n\n# Older\n\n## Milestones\n\n- Old.\n"}
    answer = fold(STANDARD, bank, notes(("progress", "It runs.")))
    (edit,) = [edit for file in answer["bank_files"] for edit in file.get("edits", [])]
    assert edit["heading"] == "# Progress > ## Milestones"
    assert "It runs." in apply_answer(bank, answer)["progress.md"].split("# Older")[0]


def test_headings_that_no_path_tells_apart_make_it_send_the_whole_file() -> None:
    bank = {"progress.md": "# Progress\n\n## Milestones\n\n- Old.\n\n## Milestones\n\n- Older.\n"}
    answer = fold(STANDARD, bank, notes(("progress", "It runs.")))
    (entry,) = [file for file in answer["bank_files"] if file["filename"] == "progress.md"]
    assert (entry["action"], entry["notes"], entry.get("edits")) == ("updated", [1], None)
    assert "- Old.\n\n- It runs. (2026-11-21, core-dev)\n\n## Milestones" in entry["content"]


def test_a_file_that_ends_in_an_open_fence_is_closed_before_it_grows() -> None:
    bank = {"progress.md": "# Progress\n\n## Known issues\n\n```\nlog"}
    after = fold_into(bank, STANDARD, notes(("issue", "It hangs."), ("progress", "It runs.")))["progress.md"]
    assert "```\nlog\n```\n\n- It hangs." in after
    assert headings(after) == ["# Progress", "## Known issues", "## Milestones"]


def test_line_endings_of_a_file_are_no_reason_to_send_it_whole() -> None:
    bank = {"progress.md": "# Progress\r\n\r\n## Known issues\r\n\r\n- Old.\r\n"}
    answer = fold(STANDARD, bank, notes(("issue", "It hangs.")))
    (entry,) = [file for file in answer["bank_files"] if file["filename"] == "progress.md"]
    assert entry["action"] == "edited"
    assert apply_answer(bank, answer)["progress.md"].endswith("- Old.\r\n- It hangs. (2026-11-21, core-dev)\r\n")


def test_files_that_the_rules_do_not_name_stay_as_they_are() -> None:
    bank = {"other.md": "# Other\n\n## Next steps\n"}
    answer = fold(STANDARD, bank, notes(("todo", "Begin.")))
    assert "other.md" not in [file["filename"] for file in answer["bank_files"]]


# The synthesis


def test_the_synthesis_tells_period_authors_counts_and_what_is_open_and_who_made_it() -> None:
    batch = [
        make_note(1, "decision", "Use S3 alone.", day="2026-11-20", agent="lead"),
        make_note(2, "todo", "Write the guide."),
        make_note(3, "question", "Which region?"),
        make_note(4, "issue", "It hangs."),
        make_note(5, "issue", "It leaks."),
    ]
    text = fold(STANDARD, {}, batch)["synthesis"]
    assert text == (
        "2026-11-20 – 2026-11-21: 5 notes, core-dev, lead (Decisions 1, To do 1, Open questions 1, Known issues 2). "
        "Made by the offline rules (model `offline-rules`), not by a language model.\n\n"
        "**Decisions**\n\n- Use S3 alone.\n\n**To do**\n\n- Write the guide.\n\n"
        "**Open questions**\n\n- Which region?\n\n**Known issues**\n\n- It leaks.\n- It hangs."
    )


def test_the_synthesis_stays_below_two_kilobytes() -> None:
    batch = [
        make_note(n, ["decision", "todo", "issue"][n % 3], f"{n} " + "Größere Wörter stehen hier überall. " * 50)
        for n in range(1, 60)
    ]
    assert 500 < len(fold(STANDARD, {}, batch)["synthesis"].encode()) < 2_000


# Size


@pytest.mark.slow
def test_many_large_notes_and_a_large_bank_are_folded() -> None:
    words = "store note bank rules space test build measured role token file key event queue page".split()
    text = " ".join(words[(i * 7) % len(words)] for i in range(350))
    todos = "\n".join(f"- {n} {text[: 110 + n % 30]} (2026-11-20, core-dev)" for n in range(1, 1_500))
    bank = {"activeContext.md": f"# Active context\n\n## Next steps\n\n{todos}\n"}
    assert len(todos) > 200_000
    large = [
        make_note(
            n, ["progress", "decision", "todo"][n % 3], f"Done: {n} {text}\n\n- {text[:200]}\n\n```\n{text[:100]}\n```"
        )
        for n in range(1, 21)
    ]
    answer = fold(STANDARD, bank, large)
    assert accounted(answer) == list(range(1, 21))


def test_a_progress_note_that_opens_with_done_settles_the_issue_that_it_names() -> None:
    issue = "The pool starts a second environment for its first request."
    bank = bank_of(
        STANDARD,
        notes(("issue", issue)),
        notes(("progress", "Done: the pool starts a second environment for its first request no more.")),
    )
    assert issue not in section(bank["progress.md"], "## Known issues")


def test_a_decision_that_is_at_odds_with_an_earlier_one_of_its_file_says_so_with_its_day() -> None:
    former = notes(("decision", "PDFs are made with ReportLab."), day="2026-11-20")
    newer = notes(("decision", "We make PDFs with WeasyPrint instead of ReportLab."), ("decision", "No mail is sent."))
    renumbered = [replace(note, number=note.number + 1) for note in newer]
    for bank in (bank_of(STANDARD, former, newer), bank_of(STANDARD, [*former, *renumbered])):
        lines = section(bank["systemPatterns.md"], "## Decisions").splitlines()
        assert [line.partition(" (2026")[2] for line in lines if line.startswith("- ")] == [
            "-11-20, core-dev)",
            "-11-21, core-dev, against 2026-11-20?)",
            "-11-21, core-dev)",
        ]
