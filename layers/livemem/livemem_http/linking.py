"""The scripts and styles of the page, linked into few files when they are read: small files compress badly, and each is
a request.

The scripts are ES modules, one for each purpose, and a browser could load them as they are. Linked, each module is a
function in one file, that gives what the module exports. Comments, indentation and empty lines are left out. So the
page is smaller by a third, and opens with a tenth of the requests. The styles that a page names one after the other
become one file. What comes from others (`vendor/`) stays as it is.

This is no bundler for any script: it knows the few forms of import and export that the page's own modules have, and
refuses all others (`UnknownFormError`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname, join, normpath, relpath

VENDOR = "vendor/"
AT_ONCE = ("views/start.js",)
"""Imported when it is first needed, which is at once: linked with what imports it."""
LATER = "more.js"
"""All modules that are imported when they are first needed, in one file: the second one that is asked for is there."""

_COMMENT = re.compile(r"^[ \t]*(?:/\*[\s\S]*?\*/|//.*)\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+|^\s*\n", re.MULTILINE)
_BETWEEN = re.compile(r">\n(?=<|\$\{)")
"""A line break between two elements of a template, which shows nothing."""
_STYLE_COMMENT = re.compile(r"/\*[\s\S]*?\*/")
_STYLE_SPACE = re.compile(r"\s*([{};,])\s*|(:)[ \t]+|\s*\n\s*")
_QUOTED = re.compile(r"""("[^"\n]*"|'[^'\n]*')""")
_IMPORT = re.compile(r"^import (?:\{([^{}]*)\}|(\w+)) from '([^'\n]+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_DEFAULT = re.compile(r"^export default (?:(?=function (\w+)\()|(?=\{))", re.MULTILINE)
_LATER = re.compile(r"import\('([^'\n]+)'\)")
_CHOSEN = re.compile(r"import\(`([^`$\n]*)\$\{(\w+)\}([^`$\n]*)`\)")
_LEFT = re.compile(r"^(?:import|export)(?=[\s{*'\"]).*", re.MULTILINE)
_SCRIPT = re.compile(r'<script[^>]* src="__BASE__/([^"]+)"')
_STYLES = re.compile(r'(?:<link rel="stylesheet" href="__BASE__/[^"]+">\n)+')
_NAMED = re.compile(r'"__BASE__/([^"]+\.(?:js|css))"')


class UnknownFormError(ValueError):
    """A script has an import or an export that linking does not know, or imports in a circle."""


@dataclass(frozen=True)
class Module:
    """One script as it was written."""

    name: str
    text: str

    @cached_property
    def plain(self) -> str:
        """Without comments, indentation, and lines that are empty."""
        return _BETWEEN.sub(">", _INDENT.sub("", _COMMENT.sub("", self.text)))

    @cached_property
    def needs(self) -> list[str]:
        """The modules that must be there before it."""
        return [self.path_of(target) for _, _, target in _IMPORT.findall(self.plain)]

    @cached_property
    def later(self) -> list[str]:
        """The modules that it imports when they are first needed."""
        return [self.path_of(target) for target in _LATER.findall(self.plain)]

    def path_of(self, target: str) -> str:
        """The name of what this module imports."""
        return normpath(join(dirname(self.name), target))

    def linked(self, link: "Link") -> str:
        """The module as a function that gives its exports."""
        body = _IMPORT.sub(lambda found: _taken(found, link.symbol(self.path_of(found[3]))), self.plain)
        body = _LATER.sub(lambda found: link.later(self.path_of(found[1])), body)
        body = _CHOSEN.sub(lambda found: f"import(`./{self.path_of(found[1])}/${{{found[2]}}}{found[3]}`)", body)
        given = ",".join(_EXPORT.findall(body))
        body = _EXPORT.sub("", body)
        if default := _DEFAULT.search(body):
            given += f",default:{default[1] or '$default'}"
            body = _DEFAULT.sub("" if default[1] else "const $default=", body, count=1)
        if unknown := _LEFT.search(body):
            raise UnknownFormError(f"{self.name}: {unknown[0]}")
        if not given:
            # A page's own script. Nothing waits for its end: what it imports later needs the modules before it.
            return f"(async()=>{{\n{body}}})();\n"
        return f"const {link.symbol(self.name)}=(()=>{{\n{body}return{{{given.lstrip(',')}}};\n}})();\n"


def _taken(found: re.Match[str], module: str) -> str:
    names = re.sub(r"\bas\b", ":", found[1]) if found[1] is not None else f"default:{found[2]}"
    return f"const {{{','.join(name.strip() for name in names.split(','))}}}={module};\n"


@dataclass(frozen=True)
class Link:
    """The linked files of one script that a page names."""

    entry: str
    modules: Mapping[str, Module]

    @cached_property
    def first(self) -> list[str]:
        """The modules of the first file, each behind those that it needs."""
        later = {target for name in self._closure((self.entry,), ()) for target in self.modules[name].later}
        return self._closure((*(one for one in AT_ONCE if one in later), self.entry), ())

    @cached_property
    def second(self) -> list[str]:
        """The modules of the file that is loaded later."""
        wanted = [target for name in self.first for target in self.modules[name].later]
        return self._closure(dict.fromkeys(wanted), self.first)

    @cached_property
    def _symbols(self) -> dict[str, str]:
        names = {*self.modules, *(one for module in self.modules.values() for one in module.needs)}
        return {name: f"${number}" for number, name in enumerate(sorted(names))}

    def symbol(self, name: str) -> str:
        """The short name of a module in the linked files."""
        return self._symbols[name]

    def later(self, target: str) -> str:
        """The code that replaces an import which is made when it is needed."""
        if target in self.first:
            return f"Promise.resolve().then(()=>{self.symbol(target)})"
        return f"import('./{LATER}').then(m=>m.{self.symbol(target)})"

    def files(self) -> dict[str, str]:
        """The linked files by their name."""
        first = self._text(self.first, ())
        if not self.second:
            default = (
                f"export default {self.symbol(self.entry)}.default;\n"
                if "export default" in self.modules[self.entry].text
                else ""
            )
            return {self.entry: first + default}
        used = sorted({one for name in self.second for one in self.modules[name].needs if one in self.first})
        shared = ",".join(map(self.symbol, used))
        second = self._text(self.second, used)
        return {
            self.entry: f"{first}export{{{shared}}};\n",
            LATER: f"{second}export{{{','.join(map(self.symbol, self.second))}}};\n",
        }

    def _text(self, names: Iterable[str], taken: Iterable[str]) -> str:
        outside = sorted({one for name in names for one in self.modules[name].needs if one.startswith(VENDOR)})
        folder = dirname(self.entry) or "."
        lines = [f"import * as {self.symbol(one)} from './{relpath(one, folder)}';\n" for one in outside]
        if taken := list(taken):
            lines.append(f"import{{{','.join(map(self.symbol, taken))}}}from './{self.entry}';\n")
        return "".join([*lines, *(self.modules[name].linked(self) for name in names)])

    def _closure(self, wanted: Iterable[str], known: Iterable[str]) -> list[str]:
        done = dict.fromkeys(known)
        before = len(done)
        for name in wanted:
            for one in self._needed(name, done, ()):
                done[one] = None
        return list(done)[before:]

    def _needed(self, name: str, done: Mapping[str, None], above: tuple[str, ...]) -> Iterator[str]:
        if name in above:
            raise UnknownFormError(f"{' -> '.join((*above, name))}: a circle of imports")
        if name in done or name.startswith(VENDOR):
            return
        if name not in self.modules:
            raise UnknownFormError(f"{above[-1] if above else 'a page'} imports {name}, which is no file of the page")
        seen: dict[str, None] = dict(done)
        for one in self.modules[name].needs:
            for found in self._needed(one, seen, (*above, name)):
                seen[found] = None
                yield found
        yield name


def plain_style(text: str) -> str:
    """A style sheet without comments, and without the space that says nothing. Quoted text stays."""
    pieces = _QUOTED.split(_STYLE_COMMENT.sub("", text))
    return "".join(one if at % 2 else _STYLE_SPACE.sub(_less, one) for at, one in enumerate(pieces)).strip()


def _less(found: re.Match[str]) -> str:
    return found[1] or found[2] or " "


def linked(bodies: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a site with its own scripts linked, and styles without what says nothing. Files that no page loads
    any more are left out.
    """
    own = {name for name in bodies if name.endswith(".js") and not name.startswith(VENDOR)}
    modules = {name: Module(name, bodies[name].decode()) for name in own}
    files = _with_styles_joined({name: body for name, body in bodies.items() if name not in own})
    entries = {one for name, body in bodies.items() if name.endswith(".html") for one in _SCRIPT.findall(body.decode())}
    for entry in sorted(entries & own):
        link = Link(entry, modules)
        made = link.files()
        for one in _chosen(modules, (*link.first, *link.second)):
            made |= Link(one, modules).files()
        files |= {name: text.encode() for name, text in made.items()}
    for name, body in files.items():
        if name.endswith(".html") and (gone := sorted({*_NAMED.findall(body.decode())} - files.keys())):
            raise UnknownFormError(
                f"{name} names {gone[0]}, which is linked into another file, or is no file of the page"
            )
    return files


def _with_styles_joined(bodies: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, with the styles that a page names in a row in the first of them."""
    files = {
        name: plain_style(body.decode()).encode() if name.endswith(".css") else body for name, body in bodies.items()
    }
    for name in [one for one in bodies if one.endswith(".html")]:
        page = files[name].decode()
        for row in _STYLES.findall(page):
            first, *others = _NAMED.findall(row)
            files[first] += b"".join(files.pop(one) for one in others)
            page = page.replace(row, f"{row.splitlines()[0]}\n")
        files[name] = page.encode()
    return files


def _chosen(modules: Mapping[str, Module], names: Iterable[str]) -> Iterator[str]:
    """The modules of which the user's choice imports one: all files that the address of an import can become."""
    for name in names:
        for before, _, after in _CHOSEN.findall(modules[name].plain):
            folder = modules[name].path_of(before)
            yield from sorted(one for one in modules if dirname(one) == folder and one.endswith(after))
