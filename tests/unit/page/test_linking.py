"""Scripts of the page in few files: they do what the modules do, one by one, and what can't be linked is refused."""

import shutil
import subprocess
from pathlib import Path

import pytest

from livemem_http.linking import LATER, UnknownFormError, linked, plain_style
from tests.support.cases import each

STATIC = Path(__file__).resolve().parents[3] / "functions" / "page" / "static"
PAGE = b'<script type="module" src="__BASE__/main.js"></script>'
NODE = shutil.which("node")
PARSE = """
const made = process.argv.slice(1).map((name) =>
  new (require('node:vm').SourceTextModule)(require('node:fs').readFileSync(name, 'utf8'), { identifier: name }));
console.log(made.length);
"""


def site(**scripts: str) -> dict[str, bytes]:
    """The files of a site whose page loads main.js; `__` in a name is a slash."""
    return {"index.html": PAGE, **{f"{name.replace('__', '/')}.js": text.encode() for name, text in scripts.items()}}


def run(files: dict[str, bytes], folder: Path) -> str:
    """What main.js prints."""
    if NODE is None:
        pytest.skip("node is not installed")
    for name, body in {**files, "package.json": b'{"type": "module"}'}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    done = subprocess.run([NODE, str(folder / "main.js")], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


WHOLE = site(
    main="import { go } from './app.js';\n\nawait Promise.resolve();\nconsole.log(await go('fr'));\n",
    app=(
        "/** Begins. */\nimport { count, up as more } from './core/counter.js';\n"
        "import {\n  loud,\n} from './vendor/shout.js';\n\n"
        "const later = async (module, name) => (await module)[name];\n\n"
        "export async function go(chosen) {\n  more();\n"
        "  const view = await later(import('./views/start.js'), 'Start');\n"
        "  const other = await import('./views/other.js');\n"
        "  const words = (await import(`./texts/${chosen}.js`)).default;\n"
        "  return [view(), other.default(), loud(words.hello), count()].join(' ');\n}\n"
    ),
    core__counter=(
        "let n = 0;\nexport const up = () => {\n  n += 1;\n};\nexport function count() {\n"
        "  // A comment.\n  return n;\n}\nexport class Never extends Error {}\n"
    ),
    views__start=(
        "import { up } from '../core/counter.js';\n"
        "export function Start() {\n  up();\n  return `start\n  imported`;\n}\n"
    ),
    views__other=(
        "import { up } from '../core/counter.js';\nimport { loud } from '../vendor/shout.js';\n"
        "export default function Other() {\n  up();\n  return loud('other');\n}\n"
    ),
    texts__fr="import frame from './fr/frame.js';\n\nexport default { ...frame };\n",
    texts__fr__frame="export default {\n  hello: 'salut // toi',\n};\n",
    vendor__shout="export const loud=t=>t.toUpperCase();\n",
)


def test_linked_scripts_do_what_the_modules_do_and_share_one_state(tmp_path):
    by_itself = run(WHOLE, tmp_path / "modules")
    together = run(linked(WHOLE), tmp_path / "linked")

    assert together.replace(" ", "") == by_itself.replace(" ", "")
    assert "SALUT // TOI 3" in together


def test_a_site_becomes_few_files_and_those_of_others_stay_as_they_are():
    files = linked(WHOLE)

    assert set(files) == {"index.html", "main.js", LATER, "texts/fr.js", "vendor/shout.js"}
    assert files["vendor/shout.js"] == WHOLE["vendor/shout.js"]
    assert b"A comment" not in files["main.js"] + files[LATER]
    assert linked(WHOLE) == files


@each(
    ("text", "why"),
    [
        ("import './other.js';\n", "import './other.js'"),
        ("import * as other from './other.js';\n", "import * as"),
        ("export { one };\n", "export { one }"),
        ("export * from './other.js';\n", "export *"),
        ("export let one = 1;\n", "export let"),
        ("import { one } from './missing.js';\n", "no file of the page"),
        ("import { one } from './main.js';\n", "circle"),
        ("import { one } from './other.js';\n", "circle"),
    ],
)
def test_what_cannot_be_linked_is_refused_and_named(text, why):
    files = site(
        main="import { one } from './a.js';\n", a=text, other="import { one } from './a.js';\nexport const one = 1;\n"
    )

    with pytest.raises(UnknownFormError) as refused:
        linked(files)
    assert why in str(refused.value)


def test_a_style_loses_what_says_nothing_and_keeps_what_is_in_quotes():
    style = """/* Why. */
.a :hover,
.b::after {
  content: '{ a: b; }';
  width: calc(1px + 2px);
}

@media (a: b) { .c { d: e } }
"""

    assert plain_style(style) == (
        ".a :hover,.b::after{content:'{ a: b; }';width:calc(1px + 2px);}@media (a:b){.c{d:e}}"
    )


def test_the_styles_that_a_page_names_in_a_row_become_one_file_in_their_order():
    links = "".join(f'<link rel="stylesheet" href="__BASE__/{name}.css">\n' for name in ("a", "b"))
    styles = {"a.css": b".a { b: c }\n", "b.css": b".a { b: d }\n", "alone.css": b".e { f: g }\n"}

    made = linked({**WHOLE, **styles, "index.html": links.encode() + PAGE})

    assert made["a.css"] == b".a{b:c}.a{b:d}"
    assert made["alone.css"] == b".e{f:g}"
    assert "b.css" not in made
    assert made["index.html"] == b'<link rel="stylesheet" href="__BASE__/a.css">\n' + PAGE


def test_a_page_that_names_a_module_which_no_browser_can_load_any_more_is_refused():
    files = site(main="import { one } from './a.js';\n", a="export const one = 1;\n")
    files["index.html"] += b'<link rel="modulepreload" href="__BASE__/a.js">'

    with pytest.raises(UnknownFormError, match=r"index\.html names a\.js"):
        linked(files)


def test_the_page_itself_is_linked_whole_and_each_file_is_a_module_that_a_browser_reads(tmp_path):
    bodies = {one.relative_to(STATIC).as_posix(): one.read_bytes() for one in STATIC.rglob("*") if one.is_file()}
    files = linked(bodies)

    scripts = {name for name in files if name.endswith(".js")}
    vendor = {name for name in bodies if name.startswith("vendor/") and name.endswith(".js")}
    assert scripts == {"main.js", "docs/main.js", LATER, "texts/en.js", "texts/fr.js", *vendor}
    if NODE is None:
        pytest.skip("node is not installed")
    for name in scripts:
        (tmp_path / name.replace("/", "_")).write_bytes(files[name])
    command = [NODE, "--experimental-vm-modules", "--no-warnings", "--eval", PARSE, *tmp_path.iterdir()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(scripts)}\n"), done.stderr
