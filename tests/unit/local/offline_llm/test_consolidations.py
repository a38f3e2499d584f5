"""The program of a user that agreed to folds alone gets consolidations, and no other prompt of the service."""

from pathlib import Path

import livemem
from local.offline_llm.chat import is_consolidation
from tests.support.cases import each

PROMPTS = {
    f"{path.parent.parent.name}/{path.name}": path.read_text("utf-8")
    for path in Path(livemem.__file__).parent.glob("*/prompts/*.md")
    # The questions of `ask` call tools, which goes to the fixed rules before a prompt is looked at.
    if path.parent.parent.name != "ask" and "(JSON" in path.read_text("utf-8")
}


@each("name, text", PROMPTS.items())
def test_each_prompt_with_values_is_known_by_its_package(name, text):
    values = text.replace("$", "0 $").replace("\n\n", "\n[]\n")
    assert is_consolidation([{"role": "user", "content": values}]) == name.startswith("consolidation/")
