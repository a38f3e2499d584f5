"""Rules of a space: free Markdown of the user's own, or one of the templates that come with the package."""

from importlib import resources

from livemem.errors import InvalidRequest

TEMPLATES = ("standard", "journal")
DEFAULT_TEMPLATE = "standard"


def template(name: str) -> str:
    """The text of a rules template; raises InvalidRequest for an unknown name."""
    if name not in TEMPLATES:
        raise InvalidRequest.of("rules_template", f"must be one of {', '.join(TEMPLATES)}")
    return resources.files("livemem").joinpath("rules", f"{name}.md").read_text("utf-8")
