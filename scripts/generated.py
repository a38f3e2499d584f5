"""Files that are made of others and are not in git. `python -m scripts.generated` makes those that are stale.

`make setup`, the tests, `sam build` and the wheel (scripts/wheel.py) call it, so that a fresh clone has them. It needs
nothing but Python.

- The table of operations (scripts/operation_table.py), once beside each of its two readers: client and service share no
  code.
- The OpenAPI document once more, for the page.
- The methods of the asynchronous client, from those of the other one.
- Copies of modules of the service (COPIED), for what client and service must do alike.
"""

import ast
import json
import os
import re
from pathlib import Path

from scripts import operation_table

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = "docs/openapi.json"
ROUTES = "layers/livemem/livemem_http/routes"
TABLES = ("client/live_memory/operations.json", "layers/livemem/livemem_mcp/operations.json")
PAGE = "functions/page/static/docs/openapi.json"
METHODS = "client/live_memory/_groups.py"
ASYNC_METHODS = "client/live_memory/_async_groups.py"
COPIED = {
    **{
        f"client/live_memory/_redaction/{name}.py": f"text/redaction/{name}.py"
        for name in ("__init__", "command_secrets", "header_secrets", "named_secrets", "provider_keys", "repeats")
    },
    "client/live_memory/_invisible.py": "text/invisible.py",
    "client/live_memory/_front_matter.py": "markdown/front_matter.py",
    "client/live_memory/_similarity.py": "text/similarity.py",
    "client/live_memory/_text_tokens.py": "text/text_tokens.py",
}
"""The copies, and the modules of the service that they are made of."""
TARGETS = (*TABLES, PAGE, ASYNC_METHODS, *COPIED)
_SERVICE = "layers/livemem/livemem"
_TYPES = '# What `_invoke` gives is the model that operations.json names.\n# mypy: disable-error-code="no-any-return"'


def main() -> None:
    """Write each file that is missing or another one. Several processes may do so at once."""
    for name, text in files().items():
        target = ROOT / name
        # Not by its time: sources that an archive brings may be older than what was made of former ones.
        if target.exists() and target.read_text("utf-8") == text:
            continue
        target.parent.mkdir(exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        unfinished.write_text(text, "utf-8")
        unfinished.replace(target)


def files() -> dict[str, str]:
    """The text of each file, by its name below the project's folder."""
    document = (ROOT / DOCUMENT).read_text("utf-8")
    table = operation_table.text(json.loads(document), _modules())
    return {
        **dict.fromkeys(TABLES, table),
        PAGE: document,
        ASYNC_METHODS: _awaited((ROOT / METHODS).read_text("utf-8")),
        **{name: _copy(module) for name, module in COPIED.items()},
    }


def _modules() -> dict[str, str]:
    """The module of the routes that has each operation. An operation is named as its function."""
    parsed = {file.stem: ast.parse(file.read_text("utf-8")) for file in sorted((ROOT / ROUTES).glob("*.py"))}
    return {
        node.name: module
        for module, tree in parsed.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    }


def _copy(module: str) -> str:
    text = (ROOT / _SERVICE / module).read_text("utf-8")
    text = re.sub(r"from livemem\.text\.(redaction|text_tokens)", r"from live_memory._\1", text)
    return f"# Copied by scripts/generated.py from {module} of the service: do not edit.\n{text}"


def _awaited(methods: str) -> str:
    tree = ast.parse(methods)
    title = '"""The methods of AsyncClient. Made by scripts/generated.py: do not edit."""'
    tree.body = [_Awaited().visit(part) for part in tree.body[1:]]
    return f"{title}\n\n{_TYPES}\n\n{ast.unparse(ast.fix_missing_locations(tree))}\n"


class _Awaited(ast.NodeTransformer):
    """Methods that wait for what they invoke, and leave the description to those of the other client."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and not part.decorator_list and ast.get_docstring(part):
                part.body[0] = ast.Expr(ast.Constant(f"As `{node.name}.{part.name}`."))
        node.name = f"Async{node.name}"
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        # Properties are read without waiting.
        waits = all(isinstance(part, ast.Name) and part.id == "overload" for part in node.decorator_list)
        return ast.AsyncFunctionDef(**dict(ast.iter_fields(node))) if waits else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        invoked = isinstance(node.func, ast.Attribute) and node.func.attr == "_invoke"
        return ast.Await(node) if invoked else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(f"Async{node.id}", node.ctx) if re.fullmatch(r"[A-Z]\w*Group", node.id) else node


if __name__ == "__main__":
    main()
