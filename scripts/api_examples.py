"""Examples of bodies and answers, put together from those of their properties (livemem_http/views)."""

import copy
from typing import Any

from livemem.conversations.parameters import Parameters
from livemem_http.views.fields import NULLABLE
from scripts.operation_table import merged

MISSING: Any = object()
"""There is no example: a required property has none."""

ANSWERS: dict[str, dict[str, Any]] = {
    "create_space": {
        "last_consolidation": None,
        "consolidation_count": 0,
        "total_notes_processed": 0,
        "rev": 1,
        "changes": 0,
    },
    "get_conversation": {"parameters": Parameters().model_dump()},
    "patch_bank_file": {
        "content": "# Glossary\n\n## Terms\n\n- Bank: the files that an agent loads.\n"
        "- Run: one attempt to consolidate.\n",
        "size": 95,
        "consolidation": 3,
    },
    "get_consolidation": {
        "sources": [
            {
                "note_id": "20260220T140000_cline-dev_decision_1a2b3c4d",
                "space_id": "demo",
                "timestamp": "2026-02-20T14:00:00Z",
                "agent": "cline-dev",
                "category": "decision",
                "tags": ["storage"],
                "content": "We keep S3 as the only store.",
                "size": 29,
                "status": "consolidated",
                "consolidation": 1,
            }
        ]
    },
    "approve_plan": {"number": 2, "approved_by": "admin", "approved_at": "2026-02-20T14:20:00Z"},
    "refuse_plan": {
        "status": "cancelled",
        "code": "refused",
        "consolidation": None,
        "message": "This is not decided.",
        "decided_by": "admin",
        "decided_at": "2026-02-20T14:20:00Z",
    },
    "undo_consolidation": {
        "number": 2,
        "kind": "undo",
        "model": None,
        "author": "admin",
        "undoes": 1,
        "files": [{"path": "glossary.md", "action": "deleted"}],
        "metrics": {},
        "changes": [
            {
                "path": "glossary.md",
                "action": "deleted",
                "diff": "--- a/glossary.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-# Glossary\n",
                "edits": [],
                "reason": None,
                "coarse": False,
            }
        ],
        "synthesis": {"before": "S3 stays the only store.", "after": None},
        "prompt_version": None,
        "usage": {
            "calls": 0,
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "estimated_tokens": 0,
            "prompts_cut": 0,
        },
    },
}
"""By operation, what is different in its answer. None: that is left out."""


def as_answered(operation_id: str, example: dict[str, Any]) -> dict[str, Any]:
    """The example of an operation's answer, made of that of its model."""
    found: dict[str, Any] = _without_none(example | ANSWERS.get(operation_id, {}))
    return found


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        some = {name: _without_none(part) for name, part in value.items()}
        return {name: part for name, part in some.items() if part is not None or name == NULLABLE}
    return [_without_none(part) for part in value] if isinstance(value, list) else value


def resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference to `components/schemas` names, with the fields beside the reference; or the schema
    itself.
    """
    reference = schema.get("$ref")
    if reference is None:
        return schema
    schemas = document["components"]["schemas"]
    found = merged(schemas, schemas[reference.rpartition("/")[2]])
    return {**found, **{name: value for name, value in schema.items() if name != "$ref"}}


def example(document: dict[str, Any], schema: dict[str, Any], *, answers: bool) -> Any:
    """An example of a value, or MISSING.

    A property that need not be there and has no example is null in an answer if it may be, and else left out.
    """
    schema = resolve(document, schema)
    if "examples" in schema:
        return copy.deepcopy(schema["examples"][0])
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        kinds = [kind for kind in kinds if kind != {"type": "null"}]
        return example(document, kinds[0], answers=answers)
    if "properties" in schema:
        return _object(document, schema, answers=answers)
    if schema.get("type") == "array":
        item = example(document, schema.get("items", {}), answers=answers)
        return MISSING if item is MISSING else [item]
    return MISSING


def _object(document: dict[str, Any], schema: dict[str, Any], *, answers: bool) -> Any:
    made = {}
    for name, part in schema["properties"].items():
        required = name in schema.get("required", [])
        if required or "examples" in part:
            value = example(document, part, answers=answers)
        elif answers:
            value = None if {"type": "null"} in part.get("anyOf", []) else part.get("default", MISSING)
        else:
            value = MISSING
        if value is not MISSING:
            made[name] = value
        elif required:
            return MISSING
    return made
