"""The process from which function environments are forked.

It imports once the modules that every function needs (libraries alone take half a second) and then does nothing but
fork: a new environment costs milliseconds and shares these pages. It has a single thread, so forking is safe.

`multiprocessing`'s fork server would do the same, but it imports the parent's `__main__` again in every child, and it
shares the state of all children among the threads of the parent without a lock.

Messages on the control socket: a length (4 bytes, big endian) and JSON. To us: `{"fork": id, "spec": {...}}` together
with the environment's socket, `{"kill": id}`. From us: `{"ready": true}` once, `{"exited": id, "status": n}` with a
wait status. When the control socket closes, the parent is gone: all environments are killed.

Each environment has a folder of its own for temporary files, as it has `/tmp` in Lambda. It may hold copies of notes.
So it goes with the environment, however that ends.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import struct
import sys
import tempfile
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

from local.functions.worker import WorkerSpec, run_worker

# What the layer's modules import at the first call only; the rest comes with them.
LATE_IMPORTS = (
    "botocore.signers",
    "encodings.idna",
    "markdown_it.main",
    "openai",
    "aws_lambda_powertools.metrics",
)
_HEAD = struct.Struct(">I")


def send_message(sock: socket.socket, message: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
    """Send one message, with open files for the other side. Raises OSError when that side is gone."""
    data = json.dumps(message).encode()
    # A file travels with the first byte of its message.
    if descriptors:
        socket.send_fds(sock, [_HEAD.pack(len(data))], list(descriptors))
    else:
        sock.sendall(_HEAD.pack(len(data)))
    sock.sendall(data)


def receive_message(sock: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive one message and the open files sent with it; None at the end of the connection."""
    head, descriptors, _, _ = socket.recv_fds(sock, _HEAD.size, 1)
    head += _receive_exactly(sock, _HEAD.size - len(head)) if head else b""
    if len(head) < _HEAD.size:
        return None
    length = _HEAD.unpack(head)[0]
    data = _receive_exactly(sock, length)
    return (json.loads(data), descriptors) if len(data) == length else None


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            break
        data += piece
    return data


class _Zygote:
    """The loop: fork and kill on request, report the processes that ended."""

    def __init__(self, control: socket.socket, scratch: Path) -> None:
        self._control = control
        self._scratch = scratch
        # What a killed runtime has left.
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(mode=0o700, parents=True)
        self._children: dict[int, int] = {}  # process id -> environment id
        self._wakeup_read, self._wakeup_write = os.pipe()
        for descriptor in (self._wakeup_read, self._wakeup_write):
            os.set_blocking(descriptor, False)

    def run(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        send_message(self._control, {"ready": True})
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._wakeup_read, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._wakeup_read in ready:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wakeup_read, 4096)
                    self._reap()
                if self._control in ready:
                    received = receive_message(self._control)
                    if received is None:
                        return
                    self._obey(*received)

    def _obey(self, message: dict[str, Any], descriptors: list[int]) -> None:
        if "fork" in message:
            self._fork(int(message["fork"]), WorkerSpec(**message["spec"]), descriptors[0])
            return
        for process, environment in self._children.items():
            if environment == message["kill"]:
                # Not reaped yet, so the number cannot belong to another process.
                os.kill(process, signal.SIGKILL)

    def _fork(self, environment: int, spec: WorkerSpec, descriptor: int) -> None:
        process = os.fork()
        if process:
            os.close(descriptor)
            self._children[process] = environment
            return
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            os.close(self._wakeup_read)
            os.close(self._wakeup_write)
            status = run_worker(descriptor, self._with_folder(environment, spec))
        except SystemExit as request:
            status = request.code if isinstance(request.code, int) else 1
        except Exception:  # noqa: BLE001 - nothing may climb into the zygote's own loop
            traceback.print_exc()
        finally:
            os._exit(status)

    def _with_folder(self, environment: int, spec: WorkerSpec) -> WorkerSpec:
        own = self._scratch / str(environment)
        own.mkdir(mode=0o700)
        # The zygote's own may be known already.
        tempfile.tempdir = None
        return replace(spec, variables={**spec.variables, "TMPDIR": str(own)})

    def _reap(self) -> None:
        while self._children:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            environment = self._children.pop(process, None)
            if environment is not None:
                shutil.rmtree(self._scratch / str(environment), ignore_errors=True)
                send_message(self._control, {"exited": environment, "status": status})

    def kill_all(self) -> None:
        for process in self._children:
            os.kill(process, signal.SIGKILL)
        for process in self._children:
            os.waitpid(process, 0)
        shutil.rmtree(self._scratch, ignore_errors=True)


def preload(layers: list[str]) -> None:
    """Import every module of the layers that all functions have, and so nearly all modules that the functions want."""
    sys.path[:0] = layers
    for package in pkgutil.iter_modules(layers):
        _try_import(package.name)
        for module in pkgutil.iter_modules([str(Path(layer, package.name)) for layer in layers]):
            _try_import(f"{package.name}.{module.name}")
            if module.ispkg:
                # Views are loaded one by one.
                folders = [str(Path(layer, package.name, module.name)) for layer in layers]
                for part in pkgutil.iter_modules(folders):
                    _try_import(f"{package.name}.{module.name}.{part.name}")
    for name in LATE_IMPORTS if layers else ():
        _try_import(name)
    sys.path[:] = sys.path[len(layers) :]


def _try_import(name: str) -> None:
    # A function that cannot import it either says so itself, better than we could.
    with contextlib.suppress(Exception):
        importlib.import_module(name)


def main() -> None:
    """Serve the control socket until it closes. Arguments: its number, the folder for temporary files, the layers."""
    control = socket.socket(fileno=int(sys.argv[1]))
    preload(sys.argv[3:])
    gc.collect()
    gc.freeze()  # the collector of a child does not touch, and thereby copy, these pages
    zygote = _Zygote(control, Path(sys.argv[2]))
    try:
        zygote.run()
    except (OSError, KeyboardInterrupt):
        pass
    finally:
        zygote.kill_all()


if __name__ == "__main__":
    main()
