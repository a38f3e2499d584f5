"""Documents of turns: what an erased one keeps, and what an import may not say."""

from datetime import date

import pytest

from livemem.conversations import turn
from livemem.store.stored_documents import BadShape


def test_an_erased_turn_does_not_hold_the_id_of_its_message() -> None:
    said = turn.Turn.model_validate(
        {
            "turn_index": 1,
            "message_id": "slack-C024-1699",
            "user_message": "a secret",
            "timestamp": "2026-11-01T08:00:00.000Z",
            "char_count": 8,
            "author": "dev",
            "open": False,
        }
    )

    stub = turn.erased(said, date(2026, 11, 24))

    assert "slack-C024" not in stub.model_dump_json()
    assert stub.message_id == turn.erased_name(said.message_id)


def test_a_stored_result_of_absurd_depth_is_refused_before_it_is_read() -> None:
    with pytest.raises(BadShape):
        turn.ToolResult.from_bytes(b"[" * 100_000 + b"]" * 100_000)
