"""What the support's other system takes away from our own code, and leaves to libraries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ELSEWHERE = Path(__file__).parents[2] / "support" / "elsewhere"


def run(program, folder):
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ELSEWHERE)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.process
@pytest.mark.parametrize(
    ("program", "refused"),
    [
        ("import os; os.fork()", "AttributeError"),
        ("from os import geteuid", "ImportError"),
        ("import subprocess, fcntl", "ModuleNotFoundError"),
        ("import select; select.poll()", "AttributeError"),
        ("import signal; signal.SIGKILL", "AttributeError"),
        ("import os; os.kill(os.getpid(), 0)", "OSError"),
        ("import os; os.open('.', os.O_RDONLY)", "PermissionError"),
        ("from pathlib import Path; list(Path('/proc/self').iterdir())", "FileNotFoundError"),
        ("open('con.token', 'w')", "OSError"),
        ("from pathlib import Path; Path('a:b').mkdir()", "OSError"),
        ("from pathlib import Path; file = open('a', 'w'); Path('a').unlink()", "PermissionError"),
        ("from pathlib import Path; file = open('a', 'w'); Path('a').rename('b')", "PermissionError"),
        ("import sys; assert sys.platform == 'linux'", "AssertionError"),
    ],
)
def test_what_linux_alone_has_or_allows_fails_there(program, refused, tmp_path):
    done = run(program, tmp_path)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(refused), done.stderr


@pytest.mark.process
def test_what_every_system_has_works_there_and_libraries_see_the_real_one(tmp_path):
    done = run(
        "import asyncio, filelock, os, platformdirs, subprocess, sys, tempfile\n"
        "from pathlib import Path\n"
        "asyncio.run(asyncio.sleep(0))\n"
        "subprocess.run([sys.executable, '-c', 'pass'], check=True, start_new_session=True)\n"
        "with tempfile.NamedTemporaryFile() as file, filelock.FileLock('lock'):\n"
        "    platformdirs.user_data_path('x')\n"
        "Path('a').write_text('1')\n"
        "Path('a').replace('b')\n"
        "Path('b').unlink()\n"
        "open(os.devnull).close()",
        tmp_path,
    )

    assert (done.returncode, done.stderr) == (0, "")
