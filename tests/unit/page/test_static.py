"""The files of the page, as they are: two languages, nothing that makes text into code, no other host, their size."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from livemem.recall.bank_sections import USUAL
from livemem_http.linking import LATER, linked
from livemem_http.site import compressed
from tests.support.cases import each

ROOT = Path(__file__).resolve().parents[3]
STATIC = ROOT / "functions" / "page" / "static"
LANGUAGES = ("en", "fr")
SENT = (".js", ".css", ".html", ".svg")
LARGEST = 125_500
"""Bytes, compressed, of everything that a reader of one language can load."""
FIRST = 80_000
"""The same of what the first view loads."""

ENTRY = re.compile(r"^  '?([\w.]+)'?: (.+),$", re.MULTILINE)
PLACE = re.compile(r"\{(\w+)\}")
CALL = re.compile(r"\b(?:t|has)\('([\w.]+)'")
BEGINNING = re.compile(r"`([\w.]+\.)\$\{")
CALL_BEGINNING = re.compile(r"\b(?:t|has)\(`([\w.]+\.)\$\{")
LITERAL = re.compile(r"'([\w.]+)'")
IMPORT = re.compile(r"(?:from|import\()\s*['`]([^'`$]+)['`]")


def own_scripts() -> list[Path]:
    """All scripts but those of others and the texts."""
    found = [one for one in sorted(STATIC.rglob("*.js")) if one.relative_to(STATIC).parts[0] not in {"vendor", "texts"}]
    assert len(found) > 20
    return found


def texts(language: str) -> dict[str, str]:
    """Each key with its text, or its forms, as they are written."""
    found: dict[str, str] = {}
    for file in sorted((STATIC / "texts" / language).glob("*.js")):
        for key, text in ENTRY.findall(file.read_text("utf-8")):
            assert key not in found, f"{language}: {key} twice"
            found[key] = text
    return found


def packed(body: bytes) -> int:
    return min(len(body), len(compressed(body)))


def test_both_languages_have_the_same_keys_the_same_values_in_them_and_forms_where_a_number_chooses():
    english, french = texts("en"), texts("fr")

    assert english.keys() == french.keys()
    for key, text in english.items():
        assert set(PLACE.findall(text)) == set(PLACE.findall(french[key])), key
        assert text.startswith("{ one: ") == french[key].startswith("{ one: "), key


def test_every_line_of_the_files_of_texts_is_understood_by_this_test():
    for language in LANGUAGES:
        for file in (STATIC / "texts" / language).glob("*.js"):
            lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith("  ")]
            assert len(lines) == len(ENTRY.findall(file.read_text("utf-8"))), file


def test_every_text_that_the_page_asks_for_exists_and_none_is_left_over():
    keys = set(texts("en"))
    code = "\n".join(file.read_text("utf-8") for file in own_scripts())
    asked = set(CALL.findall(code))
    beginnings = tuple(BEGINNING.findall(code))
    literals = set(LITERAL.findall(code))
    used = {key for key in keys if key in literals or key.startswith(beginnings)}

    assert asked - keys == set()
    assert keys - used == set()
    assert [one for one in CALL_BEGINNING.findall(code) if not any(key.startswith(one) for key in keys)] == []


def test_files_of_texts_are_all_named_by_their_language():
    for language in LANGUAGES:
        named = set(re.findall(rf"'\./{language}/(\w+)\.js'", (STATIC / "texts" / f"{language}.js").read_text("utf-8")))
        assert named == {one.stem for one in (STATIC / "texts" / language).glob("*.js")}


@each(
    "forbidden",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "style="],
)
def test_no_script_of_the_page_uses_what_could_make_text_into_code(forbidden):
    assert [str(one) for one in own_scripts() if forbidden in one.read_text("utf-8")] == []


def test_no_file_names_another_host_but_in_a_comment_and_no_page_has_a_script_or_a_style_of_its_own():
    for file in (*own_scripts(), *STATIC.rglob("*.css"), *STATIC.rglob("*.html")):
        text = re.sub(r"/\*[\s\S]*?\*/", "", file.read_text("utf-8"))
        assert re.findall(r"(?:https?:)?//[\w-]+\.\w", text) == [], file
    for page in STATIC.rglob("*.html"):
        assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page.read_text("utf-8")) == [], page


def imported(file: Path) -> Iterator[Path]:
    for name in IMPORT.findall(file.read_text("utf-8")):
        assert name.startswith("."), f"{file}: {name}"
        yield (file.parent / name).resolve()


def test_every_import_names_a_file_of_the_page_and_every_script_is_used():
    reached: set[Path] = set()
    todo = [
        STATIC / "main.js",
        STATIC / "docs" / "main.js",
        *(STATIC / "texts" / f"{language}.js" for language in LANGUAGES),
    ]
    while todo:
        file = todo.pop()
        assert file.is_file(), file
        if file not in reached:
            reached.add(file)
            todo.extend(imported(file))

    assert {one.resolve() for one in STATIC.rglob("*.js")} - {one.resolve() for one in reached} == set()


def test_the_page_is_small(capsys):
    """In one language, as it is sent: all of it, and what the first view loads."""
    bodies = {one.relative_to(STATIC).as_posix(): one.read_bytes() for one in STATIC.rglob("*") if one.suffix in SENT}
    of_the_api = {name for name in bodies if name.startswith("docs")}
    sizes = {name: packed(body) for name, body in linked(bodies).items() if name not in {"texts/fr.js", *of_the_api}}
    later = {LATER, *re.findall(r"from '\./(vendor/\w+\.js)'", linked(bodies)[LATER].decode())}
    later -= set(re.findall(r"from '\./(vendor/\w+\.js)'", linked(bodies)["main.js"].decode()))
    whole, first = sum(sizes.values()), sum(size for name, size in sizes.items() if name not in later)
    with capsys.disabled():
        print(f"\nthe page, compressed: {whole / 1000:.1f} kB in all, {first / 1000:.1f} kB for the first view")

    assert whole <= LARGEST
    assert first <= FIRST


def test_the_headings_of_what_is_open_are_those_by_which_a_start_knows_them():
    listed = re.findall(
        r"'([^']+)'", (STATIC / "core" / "known.js").read_text("utf-8").partition("OPEN = [")[2].partition("]")[0]
    )

    assert tuple(listed) == USUAL[USUAL.index("next steps") :]


def test_rules_of_the_page_hold_in_node():
    """Router, Markdown, differences, waiting times and costs: `tests/unit/page/js/`, by node's own test runner."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    files = [one.as_uri() for one in sorted((Path(__file__).parent / "js").glob("*.test.mjs"))]
    # All in one process: each of its own would load the page's scripts again.
    load = "process.argv.slice(1).forEach((name) => import(name))"
    done = subprocess.run([node, "--eval", load, *files], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout[-4000:]
