"""A system that is not Linux, for our own code in each Python process whose PYTHONPATH has this folder.

Names that Windows or macOS lack are not there, files behave as on Windows: a file that is open here is not replaced or
removed, a folder can't be opened, and names of devices or with a `:` are refused. Libraries and the standard library
see the system as it is: what they do elsewhere is theirs.
"""

import builtins
import errno
import fnmatch
import os
import shutil
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

ABSENT = {
    "os": "chown fchmod fchown fork forkpty get*gid get*uid getlog* getpgid getpgrp killpg lchown memfd_create mkfifo "
    "nice O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_TMPFILE openpty pidfd_open posix_* pread pread? preadv pwrite "
    "pwritev register_at_fork sched_* sendfile set*gid set*uid setpgid setpgrp setsid statvfs sync sysconf uname wait "
    "wait3 wait4 WNOHANG",
    "select": "epoll poll EPOLL* POLL*",
    "signal": "SIGKILL SIGHUP SIGUSR? SIGALRM SIGCHLD SIGPIPE SIGSTOP alarm pause pidfd_* pthread_* setitimer sigwait*",
    "socket": "AF_UNIX MSG_DONTWAIT MSG_NOSIGNAL SO_REUSEPORT recv_fds send_fds",
}
MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
PLATFORM = "elsewhere"
DEVICES = {"aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}
REFUSED = set(':?*<>|"\\')
_LIBRARY = sysconfig.get_paths()["stdlib"]
_WRAPPERS = tuple(f"{_LIBRARY}/{name}" for name in ("pathlib", "os.py", "shutil.py"))
_within = threading.local()


def _is_ours(frame: FrameType | None, through: tuple[str, ...] = ()) -> bool:
    while frame and through and frame.f_code.co_filename.startswith((*through, __file__, "<frozen")):
        frame = frame.f_back
    file = frame.f_code.co_filename if frame else __file__
    if file.startswith((_LIBRARY, "<frozen")) or file == __file__:
        return "site-packages/live_memory/" in file
    return "site-packages/" not in file or "site-packages/live_memory/" in file


def _absent(module: ModuleType, name: str) -> property:
    def get(_: ModuleType) -> Any:
        if _is_ours(sys._getframe(1)):
            raise AttributeError(f"{module.__name__}.{name} is not there on this system")
        return vars(module)[name]

    return property(get, lambda _, value: vars(module).__setitem__(name, value))


def _platform(real: str) -> property:
    return property(lambda _: PLATFORM if _is_ours(sys._getframe(1)) else real)


def _hide(module: ModuleType, properties: dict[str, property]) -> None:
    module.__class__ = type("Elsewhere", (ModuleType,), properties)


def _import(name: str, *given: Any, **named: Any) -> ModuleType:
    if name in MODULES and _is_ours(sys._getframe(1)):
        raise ModuleNotFoundError(f"No module named {name!r} on this system", name=name)
    return _real_import(name, *given, **named)


def _check(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _CHECKS or getattr(_within, "busy", False):
        return
    _within.busy = True
    try:
        if _is_ours(sys._getframe().f_back, _WRAPPERS):
            _CHECKS[event](*arguments)
    finally:
        _within.busy = False


def _check_name(path: Any, *_: object) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return
    parts = os.fsdecode(path).split("/")
    if parts[:2] in (["", "proc"], ["", "dev"]) and parts != ["", "dev", "null"]:
        raise FileNotFoundError(errno.ENOENT, "not on this system", path)
    for name in parts:
        ends = name not in ("", ".", "..") and name[-1] in ". "
        if ends or REFUSED & set(name) or name.partition(".")[0].rstrip().lower() in DEVICES:
            raise OSError(errno.EINVAL, "this system refuses the name", path)


def _check_opened(path: Any, mode: str | None, _: int) -> None:
    _check_name(path)
    if mode is None and isinstance(path, str | bytes | os.PathLike) and Path(os.fsdecode(path)).is_dir():
        raise PermissionError(errno.EACCES, "a folder is not opened on this system", path)


def _check_closed(*paths: Any) -> None:
    wanted = {os.path.realpath(path) for path in paths if isinstance(path, str | bytes | os.PathLike)}
    for handle in Path("/proc/self/fd").iterdir():
        opened = os.path.realpath(handle)
        if opened in wanted:
            raise PermissionError(errno.EACCES, "a file that is open is not replaced or removed here", opened)


def _check_moved(source: Any, target: Any, *_: object) -> None:
    _check_name(target)
    _check_closed(source, target)


def _check_signal(_: int, number: int) -> None:
    if number != 15:
        raise OSError(errno.EINVAL, "this system has no such signal")


_CHECKS: dict[str, Callable[..., None]] = {
    "open": _check_opened,
    "os.kill": _check_signal,
    "os.listdir": _check_name,
    "os.mkdir": _check_name,
    "os.remove": lambda path, *_: _check_closed(path),
    "os.rename": _check_moved,
    "os.scandir": _check_name,
}

# It opens folders where they can be opened.
shutil._use_fd_functions = False  # type: ignore[attr-defined]

for _name, _texts in ABSENT.items():
    _module = __import__(_name)
    _found = {name for text in _texts.split() for name in fnmatch.filter(vars(_module), text)}
    _hide(_module, {name: _absent(_module, name) for name in _found})
_hide(sys, {"platform": _platform(sys.platform)})
_real_import, builtins.__import__ = builtins.__import__, _import
sys.addaudithook(_check)
