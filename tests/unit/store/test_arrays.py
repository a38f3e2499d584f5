"""Packed arrays are never larger in memory than the object that holds them, whoever wrote it."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from livemem.memories import rows
from livemem.search import vectors
from livemem.search.vectors import BadSegment
from tests.support.cases import each

HASHES = np.zeros((4, 16), dtype=np.uint8)
UNIT = np.eye(4, 8, dtype=np.float16)
MOST = 4 << 20


def npz(save=np.savez, **arrays) -> bytes:
    packed = io.BytesIO()
    save(packed, **arrays)
    return packed.getvalue()


def zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return packed.getvalue()


def array(head: str, data: bytes) -> bytes:
    line = f"{head}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + data


def claims(shape: str) -> bytes:
    """Arrays whose heads say that they are of this shape."""
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }"
    return zipped({"hashes.npy": array(head % ("|u1", shape), b""), "vectors.npy": array(head % ("<f2", shape), b"")})


def bomb() -> bytes:
    """A compressed object of less than 100 kB that unpacks to 64 MB."""
    body = npz(np.savez_compressed, hashes=np.zeros((4_000_000, 16), dtype=np.uint8), vectors=UNIT)
    assert len(body) < 100_000
    return body


HOSTILE = {
    "bomb": bomb,
    "bzip2": lambda: zipped({"hashes.npy": b"0" * 9_999, "vectors.npy": b"0" * 9_999}, zipfile.ZIP_BZIP2),
    "a billion rows": lambda: claims("(999999999, 16)"),
    "more rows than numbers": lambda: claims(f"({'9' * 400}, 16)"),
    "negative": lambda: claims("(-1, 16)"),
    "nested": lambda: claims("(" * 5_000 + ")" * 5_000),
    "many members": lambda: zipped({str(number): b"" for number in range(60_000)}),
    "Fortran's order": lambda: npz(hashes=np.asfortranarray(np.zeros((9, 16), np.uint8)), vectors=UNIT),
    "pickled": lambda: npz(hashes=np.array([{}], dtype=object), vectors=UNIT),
    "cut off": lambda: npz(hashes=HASHES, vectors=UNIT)[:-1],
    "something behind": lambda: npz(hashes=HASHES, vectors=UNIT) + b"x",
    "empty": lambda: b"",
    "one array": lambda: npz(hashes=HASHES),
    "longer than unit": lambda: npz(hashes=HASHES, vectors=UNIT * 3),
    "not a number": lambda: npz(hashes=HASHES, vectors=UNIT * np.float16("nan")),
}


@each("which", HOSTILE)
def test_hostile_arrays_are_refused_and_cost_no_memory(which):
    body = HOSTILE[which]()
    tracemalloc.start()
    with pytest.raises(BadSegment):
        vectors.decode(body, 8)
    if which not in ("longer than unit", "not a number"):
        with pytest.raises(ValueError, match=r"array|archive|compressed"):
            rows.read(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST + 2 * len(body)


def test_what_numpy_packs_plainly_is_read():
    # Else all refusals here would prove little.
    assert vectors.decode(npz(hashes=HASHES, vectors=UNIT), 8)[1].tolist() == UNIT.tolist()
