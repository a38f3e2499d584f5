import json

import numpy as np
import pytest

from benchmarks import recall

DOCUMENTS = [
    {"text": "Ada: We chose Postgres for the ledger.", "time": "8 May", "session": 1},
    {"text": "Ben: Fine, and the queue?", "time": "2024-05-08T10:00:00", "session": 1},
    {"text": "Ada: The queue stays on SQS.", "time": "", "session": 1},
    {"text": "Lunch is at noon.", "time": "March-15-2024", "session": 2, "role": "user"},
]
QUESTIONS = [
    {"text": "Which database did Ada choose for the ledger?", "evidence": [0]},
    {"text": "lunch", "evidence": [3]},
]


def folder(path, documents=DOCUMENTS, questions=QUESTIONS, vectors=4):
    dataset = {"name": "tiny", "conversations": [{"documents": documents, "questions": questions}]}
    (path / "dataset.json").write_text(json.dumps(dataset))
    rng = np.random.default_rng(1)
    texts, asked = (rng.normal(size=(count, 8)).astype(np.float16) for count in (vectors, len(questions)))
    np.savez(path / "minilm-l6-v2.npz", T=texts, Q=asked)
    return str(path)


def test_a_data_set_is_measured_with_and_without_vectors_and_part_by_part(tmp_path, capsys):
    assert recall.main(["--data", folder(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "| all, without vectors | 100.0 / 100.0 / 100.0 / 100.0 |" in said
    # One piece of evidence each, among 5, 10, 25 and 50.
    assert "| precision of all, without vectors | 20.0 / 10.0 / 4.0 / 2.0 |" in said
    assert "| words alone |" in said
    assert "| all but around |" in said
    assert "milliseconds a query" in said


def test_the_weights_can_be_chosen_on_other_conversations(tmp_path, capsys):
    assert recall.main(["--choose", "--data", folder(tmp_path)]) == 0
    assert "| weights chosen on other conversations |" in capsys.readouterr().out


def test_vectors_of_passages_are_used_where_they_are_given(tmp_path):
    held = folder(tmp_path, [*DOCUMENTS[:3], {"text": "word " * 150, "session": 2}])
    np.savez(tmp_path / "passages-minilm-l6-v2.npz", P=np.ones((5, 8), np.float16), document=np.array([0, 1, 2, 3, 3]))
    assert recall.main(["--data", held]) == 0


def broken(path, kind):
    if kind == "no folder":
        return str(path / "nowhere")
    if kind == "evidence":
        return folder(path, questions=[{"text": "x", "evidence": [4]}])
    held = folder(path, vectors=3 if kind == "fewer vectors" else 4)
    if kind == "no JSON":
        (path / "dataset.json").write_text("{")
    if kind == "other JSON":
        (path / "dataset.json").write_text('{"name": 1}')
    if kind == "no vectors":
        (path / "minilm-l6-v2.npz").unlink()
    if kind == "no array":
        np.savez(path / "minilm-l6-v2.npz", T=np.zeros((4, 8)))
    if kind == "no archive":
        (path / "minilm-l6-v2.npz").write_bytes(b"PK\x03\x04")
    return held


@pytest.mark.parametrize(
    "kind",
    ["no folder", "no JSON", "other JSON", "no vectors", "no array", "no archive", "fewer vectors", "evidence"],
)
def test_a_folder_that_is_no_data_set_gives_one_sentence_and_status_2(tmp_path, capsys, kind):
    assert recall.main(["--data", broken(tmp_path, kind)]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.count("\n") == 1
    assert str(tmp_path) in said.err


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1:56 pm on 8 May, 2023", 1_683_554_160.0), ("March-15-2024", 1_710_460_800.0), ("2024-03-15", 1_710_460_800.0)],
)
def test_times_are_read_as_data_sets_write_them(written, seconds):
    assert recall.seconds(written) == seconds
    assert recall.seconds("yesterday") is None


def test_names_at_the_beginning_are_authors_where_all_texts_without_a_role_have_one():
    without = [*DOCUMENTS[:3], {"text": "A rule.", "session": 2}]
    talk, texts = (
        recall.Conversation.model_validate({"documents": some, "questions": []}) for some in (DOCUMENTS, without)
    )
    assert talk.authors == ["Ada", "Ben", "Ada", ""]
    assert texts.authors == [""] * 4
