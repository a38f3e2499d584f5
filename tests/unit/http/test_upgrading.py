"""docs/upgrading.md has each changed operation of 0654da6f, and each name in its place is an operation of today."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
FORMER = 123
"""Operations of the API at commit 0654da6f."""
STAY = """
    get_about collect_garbage list_backups list_connections end_connection get_health get_job create_page_code
    exchange_page_code search_spaces list_spaces create_space get_space delete_space patch_space ask_question
    create_backup get_backup delete_backup list_bank get_bank_file put_bank_file delete_bank_file patch_bank_file
    list_consolidations start_consolidation get_consolidation undo_consolidation load_context list_conversations
    create_conversation get_conversation delete_conversation close_conversation append_message list_summaries
    update_summaries list_turns append_turn get_turn start_digest erase_items get_invariants search_memories
    store_memory list_memory_changes get_memory delete_memory correct_memory restore_memory split_memory
    append_note list_notes get_note read_by_id list_rooms list_messages post_message get_rules put_rules
    search_space list_stale get_start get_summary get_synthesis list_tokens create_token rotate_token revoke_token
    patch_token create_upload get_usage get_whoami
""".split()
"""Those of them that the page need not name, because they are as they were."""
METHODS = ("get", "put", "post", "patch", "delete")
NAMED = re.compile(r"`(GET|PUT|POST|PATCH|DELETE) ([^`\s]+)")


def _operations() -> dict[tuple[str, str], str]:
    """The id of each operation of today, by its method and its path with `{}` in the place of names."""
    document = json.loads((DOCS / "openapi.json").read_text("utf-8"))
    return {
        (method.upper(), re.sub(r"\{\w+\}", "{}", path)): one["operationId"]
        for path, operations in document["paths"].items()
        for method, one in operations.items()
        if method in METHODS
    }


def _chapter() -> str:
    page = (DOCS / "upgrading.md").read_text("utf-8")
    return page.partition("\n## Operations of before\n")[2].partition("\n## ")[0]


def _rows() -> list[list[str]]:
    rows = [line.strip("|").split(" | ") for line in _chapter().splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


def _names(cell: str) -> list[tuple[str, str]]:
    """The operations that a cell names. `S` is a space."""
    found = [(method, path.partition("?")[0]) for method, path in NAMED.findall(cell)]
    whole = [(method, re.sub("^S(?=/|$)", "/spaces/{space_id}", path)) for method, path in found]
    return [(method, re.sub(r"\{\w+\}", "{}", f"/v1{path}")) for method, path in whole]


def test_each_former_operation_is_in_the_table_or_among_those_that_stay():
    gone = [name for row in _rows() for name in _names(row[0])]

    assert len(set(gone)) == len(gone)
    assert len(set(STAY)) == len(STAY)
    assert len(gone) + len(STAY) == FORMER


def test_each_operation_that_the_table_gives_is_one_of_today_and_those_of_before_are_not():
    today = _operations()
    given = {name for row in _rows() for name in _names(row[1])}

    assert len(given) > 15
    assert given - today.keys() == set()
    assert set(STAY) - set(today.values()) == set()
    assert {name for row in _rows() for name in _names(row[0])} & today.keys() == set()
    assert [row for row in _rows() if not _names(row[1]) and not row[1].startswith("gone")] == []
