"""Break the code on purpose, in one small place at a time, and see which of these mutants no test notices.

    python -m scripts.mutants changes memories --sample 40 --seed 1 --out FILE [--tests tests/unit tests/template]
    python -m scripts.mutants --same FILE          the mutants of that run, where their code is still there

A mutant changes a comparison, a boolean, a constant or what is returned, or leaves out a call or the condition of a
write, in the functions of the named packages. All tests are collected once. One run without any mutant notes which
tests come to which place, and how long they take. Then each mutant gets a child process of its own, in which the
function has the changed code, and the tests that come to it, the fastest first, until one fails. Code outside of
functions has run by then and is left alone. Run it at the root of a checkout.
"""

import argparse
import ast
import builtins
import copy
import gc
import importlib
import json
import os
import pickle
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import pytest
from _pytest.runner import runtestprotocol

HOUSE = Path("layers/livemem")
SWAPS: Mapping[type, type] = {
    ast.Eq: ast.NotEq, ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.In: ast.NotIn, ast.Is: ast.IsNot,
    ast.And: ast.Or, ast.Add: ast.Sub,
}  # fmt: skip
OTHER_WAY = {**SWAPS, **{new: old for old, new in SWAPS.items()}}
CONDITIONS = ("if_match", "if_none_match", "etag")
SLACK_SECONDS = 20
"""A mutant whose tests take so much longer than three times their time hangs, which is noticed too."""
MEMORY = 4 << 30


@dataclass(frozen=True)
class Mutant:
    """A change, described so that it is found again when its function stands in another file or line of the package."""

    room: str
    function: str
    kind: str
    statement: str
    expression: str
    nth: int
    """The number of the place, among the function's places with the same values of the other fields."""


@dataclass
class Place:
    """Where a mutant is: the field of a syntax tree that holds the node, and what would be put there."""

    module: str
    tree: ast.Module
    parent: ast.AST
    field: str
    index: int | None
    new: ast.AST

    def put(self, node: Any) -> Any:
        """Put a node there, and return the node that was there before."""
        held = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, node)
            return held
        before, held[self.index] = held[self.index], node
        return before

    def watch(self, number: int) -> None:
        """Let the code report that it comes here, by `_reached(number)`."""
        node = self.put(None)
        self.put(node)
        told = ast.parse(f"(_reached({number}), None)[1]", mode="eval").body
        inner = {ast.Return: "value", ast.Expr: "value", ast.Raise: "exc"}.get(type(node))
        cast(Any, told).value.elts[1] = getattr(node, inner) if inner else node
        ast.fix_missing_locations(ast.copy_location(told, node))
        setattr(node, inner, told) if inner else self.put(told)


def changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:  # noqa: C901 - a table of cases
    """The possible changes of a node: (kind of change, the node in its place)."""

    def with_(**parts: Any) -> ast.AST:
        new = copy.copy(node)
        for name, value in parts.items():
            setattr(new, name, value)
        return new

    match node:
        case ast.Compare(ops=[op]) if type(op) in OTHER_WAY:
            yield "comparison", with_(ops=[OTHER_WAY[type(op)]()])
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in OTHER_WAY:
            yield "operator", with_(op=OTHER_WAY[type(op)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", operand
        case ast.Constant(value=bool(value)):
            yield "constant", with_(value=not value)
        case ast.Constant(value=int(value)):
            yield "constant", with_(value=value + 1)
        case ast.Constant(value=str(value)) if value and " " not in value:
            yield "constant", with_(value=f"{value}x")
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return", with_(value=ast.copy_location(ast.Constant(None), value))
        case ast.Raise(exc=ast.expr()) | ast.Expr(value=ast.Call()):
            yield "left out", ast.copy_location(ast.Pass(), node)
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg in CONDITIONS:
                    yield f"no {keyword.arg}", with_(keywords=[one for one in keywords if one is not keyword])


def mutants(room: str) -> dict[Mutant, Place]:
    """All mutants of a package, in the order of its files."""
    found: dict[Mutant, Place] = {}
    for file in sorted((HOUSE / "livemem" / room).glob("**/*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        module = ".".join(file.relative_to(HOUSE).with_suffix("").parts).removesuffix(".__init__")
        for function, statement, parent, field, index in _places(tree, "", None):
            node = getattr(parent, field) if index is None else getattr(parent, field)[index]
            for kind, new in changed(node):
                told = (room, function, kind, ast.unparse(statement).split("\n")[0], ast.unparse(node).split("\n")[0])
                nth = sum((one.room, one.function, one.kind, one.statement, one.expression) == told for one in found)
                found[Mutant(*told, nth)] = Place(module, tree, parent, field, index, new)
    return found


def _places(
    node: ast.AST, function: str, statement: ast.stmt | None
) -> Iterator[tuple[str, ast.stmt, ast.AST, str, int | None]]:
    """(function, statement, node, its field, place in the list of that field) of all that runs when a function does."""
    for field, held in ast.iter_fields(node):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and field != "body":
            continue
        for index, one in enumerate(held if isinstance(held, list) else [held]):
            docstring = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
            within = isinstance(node, ast.JoinedStr) and isinstance(one, ast.Constant)
            if not isinstance(one, ast.AST) or docstring or within or field in {"annotation", "pattern", "format_spec"}:
                continue
            inside = function
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{function}.{one.name}".strip(".")
            here = one if isinstance(one, ast.stmt) else statement
            if here is not None and (statement is not None or isinstance(node, ast.FunctionDef)):
                yield function, here, node, field, index if isinstance(held, list) else None
                yield from _places(one, inside, here)
            else:
                yield from _places(one, inside, None)


def become(place: Place) -> None:
    """Give the functions of the place's module the code of its syntax tree as that is now."""
    file = os.path.realpath(cast(str, sys.modules[place.module].__file__))
    new = {}
    waiting = [compile(place.tree, file, "exec")]
    while waiting:
        code = waiting.pop()
        new[code.co_qualname, code.co_firstlineno] = code
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and os.path.realpath(one.__code__.co_filename) == file:
            code = new.get((one.__code__.co_qualname, one.__code__.co_firstlineno), one.__code__)
            if code.co_freevars == one.__code__.co_freevars:
                one.__code__ = code


def in_child(work: Callable[[], Any], seconds: int | None = None) -> Any:
    """The result of `work` in a child process. None if the process dies, or hangs longer than this."""
    with tempfile.TemporaryFile() as told:
        if not (child := os.fork()):
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(seconds or 0)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1), os.dup2(quiet, 2)
            try:
                pickle.dump(work(), told)
                told.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        told.seek(0)
        try:
            return pickle.load(told)  # noqa: S301 - our own child wrote it
        except EOFError:
            return None


class Lab:
    """Collects the tests as pytest does, and then tries the mutants instead of running them."""

    def __init__(self, places: Mapping[Mutant, Place], most_seconds: float) -> None:
        self.places, self.most_seconds = places, most_seconds
        self.results: list[dict[str, Any]] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Hook of pytest."""
        gc.unfreeze()
        # So that all children have one folder for their files.
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # noqa: SLF001
        items = session.items
        began = time.monotonic()
        comes = cast(dict[int, list[tuple[float, int]]], in_child(lambda: self._watch(items)))
        print(
            f"{len(items)} tests in {time.monotonic() - began:.0f} s come to {len(comes)} of {len(self.places)} places"
        )
        for number, (mutant, place) in enumerate(self.places.items()):
            chosen: list[pytest.Item] = []
            seconds = 0.0
            for lasts, at in sorted(comes.get(number, [])):
                seconds += lasts
                if chosen and seconds > self.most_seconds:
                    break
                chosen.append(items[at])
            began = time.monotonic()
            allowed = int(SLACK_SECONDS + 3 * min(seconds, self.most_seconds))
            ended = in_child(lambda: self._try(place, chosen), allowed) if chosen else ""  # noqa: B023
            by = "it hangs" if ended is None else ended
            took = round(time.monotonic() - began, 1)
            self.results.append({**asdict(mutant), "killed_by": by, "tests": len(chosen), "seconds": took})
            print(f"{took:6.1f} s  {mutant.room} {mutant.function}: {by or 'SURVIVED'}", flush=True)
        return True

    def _watch(self, items: list[pytest.Item]) -> Mapping[int, list[tuple[float, int]]]:
        for number, place in enumerate(self.places.values()):
            place.watch(number)
        for place in {one.module: one for one in self.places.values()}.values():
            become(place)
        reached: set[int] = set()
        builtins._reached = reached.add  # type: ignore[attr-defined]  # noqa: SLF001
        comes: dict[int, list[tuple[float, int]]] = defaultdict(list)
        for at, (failed, seconds) in enumerate(_run(items)):
            for number in reached if not failed else ():
                comes[number].append((seconds, at))
            reached.clear()
        return comes

    def _try(self, place: Place, items: list[pytest.Item]) -> str:
        place.put(ast.fix_missing_locations(place.new))
        become(place)
        return next((item.nodeid for item, (failed, _) in zip(items, _run(items), strict=False) if failed), "")


def _run(items: list[pytest.Item]) -> Iterator[tuple[bool, float]]:
    """Whether each of the tests fails, and the seconds that it takes."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        reports = runtestprotocol(item, log=False, nextitem=following)
        yield any(one.failed for one in reports), sum(one.duration for one in reports)


def table(results: Iterable[Mapping[str, Any]]) -> str:
    """Package, mutants, killed, survived; then the survivors."""
    lines, rooms = ["", f"{'room':<16} mutants  killed  survived"], Counter(one["room"] for one in results)
    left = [one for one in results if not one["killed_by"]]
    for room, count in rooms.items():
        alive = sum(one["room"] == room for one in left)
        lines.append(f"{room:<16} {count:7} {count - alive:7} {alive:9}")
    lines += [f"survived: {one['room']} {one['function']} ({one['kind']}): {one['expression']}" for one in left]
    return "\n".join(lines)


def _sample(rooms: Iterable[str], size: int, seed: int) -> dict[Mutant, Place]:
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    all_of = [mutants(room) for room in rooms]
    return {one: found[one] for found in all_of for one in chance.sample(list(found), min(size, len(found)))}


def _same(file: Path) -> dict[Mutant, Place]:
    """The mutants of an earlier run that are still there. Prints which are not."""
    kept = json.loads(file.read_text("utf-8"))
    wanted = [Mutant(**{field.name: one[field.name] for field in fields(Mutant)}) for one in kept]
    there = {one: place for room in {one.room for one in wanted} for one, place in mutants(room).items()}
    for one in wanted:
        if one not in there:
            print(f"not there any more: {one.room} {one.function}: {one.expression}")
    return {one: there[one] for one in wanted if one in there}


def main() -> int:
    """Print the table; with `--out` keep the results as JSON."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("rooms", nargs="*", default=["changes", "memories", "conversations"])
    asked.add_argument("--sample", type=int, default=40, help="mutants of each room")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--same", type=Path, help="the mutants of this file instead of a sample")
    asked.add_argument("--tests", nargs="+", default=["tests/unit"])
    asked.add_argument("--most-seconds", type=float, default=60, help="of tests for one mutant")
    asked.add_argument("--out", type=Path)
    given = asked.parse_args()
    places = _same(given.same) if given.same else _sample(given.rooms, given.sample, given.seed)
    sys.path[:0] = [str(HOUSE.resolve()), str(Path("client").resolve()), str(Path.cwd())]
    for module in {one.module for one in places.values()}:
        importlib.import_module(module)
    lab = Lab(places, given.most_seconds)
    pytest.main(["-q", "-p", "no:cacheprovider", "--import-mode=importlib", *given.tests], plugins=[lab])
    print(table(lab.results))
    if given.out:
        given.out.write_text(json.dumps(lab.results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
