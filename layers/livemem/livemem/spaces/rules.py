"""Rules of a space: free Markdown of the user's own, or one of the templates that come with the package."""

import re
from importlib import resources

from livemem import limits
from livemem.errors import InvalidRequest, NotFound
from livemem.process import Process
from livemem.spaces import head as heads
from livemem.store.bucket import RULES

TEMPLATES = (
    *("standard", "journal", "research", "support"),
    *("standard-fr", "journal-fr", "research-fr", "support-fr"),
)
"""The names of the templates. `-fr`: the French edition, with the same marks and sections."""
DEFAULT_TEMPLATE = "standard"
LOAD_FIRST = re.compile(r" ?<!--[^\S\n]*load first[^\S\n]*-->[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
"""The mark at the end of a line of rules that names a file or a section which an agent gets first at its start."""


def of_structure(text: str) -> str:
    """Rules without the marks for the start: what they say of a bank's files."""
    return LOAD_FIRST.sub("", text)


def template(name: str) -> str:
    """The text of a rules template; raises InvalidRequest for an unknown name."""
    if name not in TEMPLATES:
        raise InvalidRequest.of("rules_template", f"must be one of {', '.join(TEMPLATES)}")
    return resources.files("livemem.spaces").joinpath("templates", f"{name}.md").read_text("utf-8")


def chosen(text: str | None, template_name: str | None) -> str | None:
    """The rules that a request asks for, by `rules` or `rules_template`. None if it has neither.

    Raises InvalidRequest or TooLarge, which name the field.
    """
    if text is None:
        return None if template_name is None else template(template_name)
    if template_name is not None:
        raise InvalidRequest.of("rules_template", "send either rules or rules_template, not both")
    limits.check_text("rules", text, limits.RULES_BYTES)
    if text.strip().lower() in TEMPLATES:
        # This word would be the LLM's only rule for the bank.
        raise InvalidRequest.of("rules", f"is a template's name: send it as `rules_template` ({', '.join(TEMPLATES)})")
    return text


def read(process: Process, space_id: str) -> str:
    """The space's rules: 1 GET. Raises NotFound."""
    heads.load_recent(process, space_id)
    item = process.store.get(RULES.key(space_id))
    if not item:
        raise NotFound("space", space_id)
    return item.body.decode(errors="replace")
