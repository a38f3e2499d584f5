"""What programs print cannot command the terminal that shows it."""

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from livemem.text.invisible import visible
from local import stopping
from tests.support.cases import each

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'client'}{os.pathsep}{ROOT}",
        "PYTHONIOENCODING": "utf-8",
        **variables,
    }
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, timeout=60, check=False
    )


@each("number", [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x2028, 0x202E, 0xE0041])
def test_every_control_character_is_shown_and_so_is_what_nobody_sees(number):
    assert visible(f"a{chr(number)}b") == f"a\\u{{{number:X}}}b"


def test_tabs_newlines_and_all_other_characters_stay():
    text = "a\tb\nc é ✓ 中文 \U0001f600 \xa0"
    assert visible(text) == text


@pytest.mark.process
def test_what_a_program_prints_logs_or_dies_of_is_clean():
    done = run(
        "-c",
        "import logging; from local import terminal; terminal.protect(); terminal.protect(); logging.basicConfig()\n"
        "print('out \\x1b[31m\\x9b2J é \\ud800'); logging.warning('%s', 'log \\x1b]0;x\\x07')\n"
        "raise ValueError('died \\x1bc')",
    )
    assert done.stdout.decode() == "out \\u{1B}[31m\\u{9B}2J é \\u{D800}\n"
    assert b"log \\u{1B}]0;x" in done.stderr
    assert b"died \\u{1B}c" in done.stderr
    assert not set(done.stdout + done.stderr) & {0x1B, 0x07}


@pytest.mark.parametrize(
    ("module", "arguments", "variables"),
    [
        ("local", (), {"PORT": "\x1b[2J"}),
        ("local.sam", (), {"PORT": "\x1b[2J"}),
        ("local.demo", ("--\x1b[2J",), {}),
    ],
)
def test_no_program_repeats_an_escape_sequence_that_it_was_given(
    module, arguments, variables, tmp_path, monkeypatch, capsysbinary
):
    monkeypatch.setattr(os, "environ", {**os.environ, "LIVEMEM_DATA_DIR": str(tmp_path), **variables})
    monkeypatch.setattr(sys, "argv", ["program", *arguments])
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    before = {number: signal.getsignal(number) for number in stopping.SIGNALS}
    # It is run as `python -m` does, but for the process.
    monkeypatch.delitem(sys.modules, f"{module}.__main__", raising=False)
    try:
        with pytest.raises(SystemExit) as left:
            runpy.run_module(module, run_name="__main__")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    out, err = capsysbinary.readouterr()
    assert left.value.code
    assert b"[2J" in err
    assert b"\x1b" not in out + err
