"""Whatever is uploaded: it is refused by a sentence that tells why, nothing is written, and little is spent on it."""

import contextlib
import gzip
import io
import json
import tarfile
import tracemalloc
import zlib
from random import Random

import pytest

from livemem import limits
from livemem.copies import archive, inspection, unpacking
from livemem.erasure import steps
from livemem.errors import InvalidArchive, TooLarge
from livemem.store import keys
from tests.support.archives import (
    downloads,
    export_now,
    exported,
    import_it,
    lived_in,
    odd,
    refusal,
    tar,
    targz,
    unpack,
)
from tests.support.cases import each
from tests.support.every_kind import packed
from tests.support.world import World

PLAIN = [("bank/a.md", b"# A\n")]
"""A folder that would be taken."""


@pytest.fixture(scope="module")
def space() -> dict[str, bytes]:
    """The files of a good archive, by name below the space."""
    world = World()
    world.create_space()
    world.note("first")
    world.consolidate()
    world.note("second")
    return {path.removeprefix("demo/"): body for path, body in unpack(exported(world)).items()}


@pytest.fixture
def world():
    return World()


def raw_header(name: bytes) -> bytes:
    """A tar of one empty file with these bytes as its name, whatever they are."""
    block = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    block[0:100] = name.ljust(100, b"\0")
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block) + bytes(1024)


@each(
    ("name", "reason"),
    [
        ("/etc/passwd.md", "absolute path"),
        ("../up.md", r"`\.\.`"),
        ("a/../../up.md", r"`\.\."),
        ("a/./b.md", "empty part"),
        ("a//b.md", "empty part"),
        ("a\\b.md", "backslash"),
        ("a\nb.md", "control characters"),
        ("a\x7fb.md", "control characters"),
        ("a\u2028b.md", "control characters"),
        ("x" * 898 + ".md", "more than 900 bytes"),
        ("ü" * 450 + "/a.md", "more than 900 bytes"),
    ],
)
def test_names_that_could_come_out_elsewhere_are_refused(world, name, reason):
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        error = refusal(world, tar([*PLAIN, (name, b"# B\n")], form))
        assert isinstance(error, InvalidArchive)
        with pytest.raises(InvalidArchive, match=reason):
            raise error


def test_a_name_that_is_no_utf8_is_refused(world):
    assert "not UTF-8" in refusal(world, raw_header(b"\xff\xfe.md")).detail


@each(
    ("member", "reason"),
    [
        (odd("a.md", tarfile.SYMTYPE, linkname="/etc/passwd"), "a symbolic link"),
        (odd("a.md", tarfile.LNKTYPE, linkname="bank/a.md"), "a hard link"),
        (odd("a.md", tarfile.CHRTYPE), "a device"),
        (odd("a.md", tarfile.BLKTYPE), "a device"),
        (odd("a.md", tarfile.FIFOTYPE), "a named pipe"),
        (odd("a.md", tarfile.GNUTYPE_SPARSE), "a sparse file"),
        (odd("a.md", b"Z"), "of a kind that is not allowed"),
        (odd("a.md", tarfile.REGTYPE, pax_headers={"GNU.sparse.major": "1"}), "sparse"),
        (odd("a.md", tarfile.REGTYPE, pax_headers={"size": "99999999999"}), "more than 8 GiB"),
        (odd("../a", tarfile.DIRTYPE), r"`\.\.`"),
        (odd("/a", tarfile.DIRTYPE), "absolute"),
    ],
)
def test_only_files_and_folders_are_taken(world, member, reason):
    with pytest.raises(InvalidArchive, match=reason):
        raise refusal(world, tar([*PLAIN, member]))


def test_a_member_that_is_there_twice_is_refused(world):
    assert "twice" in refusal(world, tar([*PLAIN, *PLAIN])).detail
    assert "twice" in refusal(world, tar([*PLAIN, ("./bank/a.md", b"")])).detail


def test_too_many_members_are_not_read_to_their_end(world, monkeypatch):
    monkeypatch.setattr(unpacking, "MEMBERS", 5_000)
    member = tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT)
    names = (b"%09d" % number for number in range(unpacking.MEMBERS + 50))
    body = b"".join(renamed(member, name) for name in names)
    # What is behind would be told as damage.
    error = refusal(world, gzip.compress(body, 1) + b"garbage" * 1_000)
    assert error.detail == "The archive has more than 5000 members."


def renamed(block: bytes, name: bytes) -> bytes:
    """A header with another name, quickly."""
    old = sum(block[:100])
    total = int(block[148:154], 8) - old + sum(name)
    return name.ljust(100, b"\0") + block[100:148] + b"%06o\0 " % total + block[156:]


def test_a_bomb_is_stopped_soon_and_costs_little_memory(world):
    bomb = gzip.compress(bytes(24 << 20), 9)
    assert len(bomb) < 26_000
    tracemalloc.start()
    error = refusal(world, bomb)
    assert "something follows" not in error.detail
    assert "200 times" in error.detail
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_a_bomb_in_a_member_is_stopped_too(world, monkeypatch):
    monkeypatch.setattr(unpacking, "FREE_BYTES", 1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    info = tarfile.TarInfo("a.md")
    info.size = 6 << 20
    body = packer.compress(info.tobuf()) + packer.compress(bytes(info.size)) + packer.flush()
    assert "200 times" in refusal(world, body).detail


def test_all_that_unpacks_is_bounded_too(world, monkeypatch):
    monkeypatch.setattr(unpacking, "UNPACKED_BYTES", 10_000)
    assert isinstance(refusal(world, targz([("a.md", b"x" * 10_000)])), TooLarge)


class Counted:
    """zlib, with how many streams were begun and how many bytes were given to them: what is left of these is copied."""

    MAX_WBITS, error = zlib.MAX_WBITS, zlib.error

    def __init__(self):
        self.streams = self.given = 0

    def decompressobj(self, bits):
        self.streams += 1
        return CountedStream(self, zlib.decompressobj(bits))


class CountedStream:
    def __init__(self, counted, stream):
        self._counted, self._stream = counted, stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def decompress(self, data, most):
        self._counted.given += len(data)
        return self._stream.decompress(data, most)


EMPTY, ONE, ZEROS = (gzip.compress(content, 9, mtime=0) for content in (b"", b"x", bytes(5)))
NAMED = EMPTY[:3] + b"\x08" + EMPTY[4:10] + b"n" * 100 + b"\0" + EMPTY[10:]
"""A member of gzip with a file's name."""


@each(
    "body",
    [
        EMPTY * 25_000,
        ONE * 25_000,
        ZEROS * 25_000,
        NAMED * 25_000,
        targz(PLAIN) + EMPTY * 25_000,
        targz(PLAIN) + ZEROS * 25_000,
        EMPTY * 25_000 + targz(PLAIN),
        (EMPTY + gzip.compress(bytes(9_000), 9, mtime=0)) * 25_000,
    ],
)
def test_pieces_of_gzip_that_hold_next_to_nothing_cost_next_to_nothing(body):
    counted = Counted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "zlib", counted)
        with pytest.raises(InvalidArchive, match=r"too many pieces|can't be read"):
            list(unpacking.files(chunks_of(body)))
    assert counted.streams <= 2 * unpacking.FREE_MEMBERS
    assert counted.given <= counted.streams * unpacking.FED_BYTES


def chunks_of(body):
    return (body[start : start + (1 << 20)] for start in range(0, len(body), 1 << 20))


def test_what_zlib_copies_does_not_grow_with_the_square_of_what_was_read():
    chance = Random(7)
    content = b"".join(chance.randbytes(8_000) * 20 for _ in range(100))
    body = gzip.compress(tar([("bank/a.md", content)]), 1)
    counted = Counted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "zlib", counted)
        assert len(list(unpacking.files(iter([body])))) == 1
    assert counted.given <= 2 * len(body)


@pytest.mark.parametrize("size", [unpacking.MEMBER_BYTES, 65_280, 128 << 10])
def test_tools_that_pack_in_blocks_are_understood(size):
    whole = tar([("bank/a.md", b"x" * 40 * size)])
    packed = b"".join(gzip.compress(whole[start : start + size]) for start in range(0, len(whole), size)) + EMPTY
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "FREE_MEMBERS", 2)
        (path,) = [member.path for member in unpacking.files(chunks_of(packed))]
    assert path == "bank/a.md"


@each("cut", [7, 512, 16 << 10, 1 << 20])
def test_zeros_behind_the_end_are_followed_by_nothing_however_the_bytes_come(cut):
    body = targz(PLAIN) + bytes(40_000)
    for more, reason in ((b"", None), (targz(PLAIN), "something follows"), (b"x", "something follows")):
        chunks = (body[start : start + cut] for body in [body + more] for start in range(0, len(body), cut))
        with pytest.raises(InvalidArchive, match=reason) if reason else contextlib.nullcontext():
            assert [member.path for member in unpacking.files(chunks)] == ["bank/a.md"]


def test_an_archive_in_an_archive_is_not_unpacked():
    for body in (gzip.compress(targz(PLAIN)), gzip.compress(gzip.compress(bytes(1 << 20)))):
        with pytest.raises(InvalidArchive, match=r"not a tar|ends too early"):
            list(unpacking.files(iter([body])))
    (member,) = unpacking.files(iter([targz([("bank/a.tar.gz", targz(PLAIN))])]))
    assert member.path == "bank/a.tar.gz"


@each("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK])
def test_extended_headers_are_not_read_whatever_their_size(world, kind):
    info = tarfile.TarInfo("x")
    info.type = kind
    info.size = 1 << 33
    assert "extended headers" in refusal(world, info.tobuf(tarfile.GNU_FORMAT) + bytes(10_240)).detail


def test_a_chain_of_extended_headers_has_an_end(world):
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    assert "extended headers" in refusal(world, info.tobuf(tarfile.GNU_FORMAT) * 5_000).detail


@each(
    "records",
    [b"5 a=b\n", b"99 path=x\n", b"0 path=x\n", b"path=x\n", b"-1 path=x\n", b"9" * 5_000 + b" a=b\n", b"\xff"],
)
def test_an_extended_header_that_can_not_be_read_is_told(world, records):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, len(records)
    body = info.tobuf() + records + bytes(-len(records) % 512) + tar(PLAIN)
    assert "extended header" in refusal(world, body).detail


def test_a_global_header_may_not_name_what_follows(world):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", pax_headers={"path": "b.md"}) as made:
        made.addfile(tarfile.TarInfo("a.md"))
    assert "global header" in refusal(world, target.getvalue()).detail


def test_an_archive_that_ends_too_early_anywhere_is_refused(world, space):
    whole = packed(space)
    plain = gzip.decompress(whole)
    for cut in (1, 20, len(whole) // 2, len(whole) - 1):
        assert isinstance(refusal(world, whole[:cut]), InvalidArchive)
    for cut in (0, 100, 512, 5_000, len(plain.rstrip(b"\0")) // 512 * 512):
        assert isinstance(refusal(world, plain[:cut]), InvalidArchive)


def test_garbage_behind_the_end_is_refused_and_zeros_are_not(world):
    body = targz(PLAIN)
    assert "damaged" in refusal(world, body + b"garbage").detail
    assert "something follows" in refusal(world, tar(PLAIN) + b"x" * 512).detail
    assert "something follows" in refusal(world, body + gzip.compress(b"x")).detail
    assert import_it(world, body + bytes(10_000))
    half = len(tar(PLAIN)) // 2
    pieces = gzip.compress(tar(PLAIN)[:half]) + gzip.compress(tar(PLAIN)[half:])
    assert import_it(world, pieces, space_id="copy2")


def test_a_changed_byte_anywhere_in_the_stream_is_noticed(world, space):
    whole = packed(space)
    changed = [whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :] for position in spread(whole)]
    noticed = [broken for broken in changed if not unpacks_to_the_same(broken, whole)]

    assert len(noticed) > 15
    for broken in noticed:
        assert isinstance(refusal(world, broken), InvalidArchive)


def spread(whole):
    return range(12, len(whole), len(whole) // 23)


def unpacks_to_the_same(broken, whole):
    """Of a run of zeros it says the same wherever it begins; and some bits at the end mean nothing."""
    try:
        return gzip.decompress(broken) == gzip.decompress(whole)
    except (OSError, EOFError, zlib.error):
        return False


@each(
    ("body", "reason"),
    [
        (b"PK\x03\x04" + bytes(600), "a zip file"),
        (b"BZh91AY&SY" + bytes(600), "a bzip2 file"),
        (b"\xfd7zXZ\x00" + bytes(600), "an xz file"),
        (b"\x28\xb5\x2f\xfd" + bytes(600), "a zstd file"),
        (b"", "ends too early"),
        (b"hello", "ends too early"),
        (b"hello" * 1_000, "not a tar"),
        (gzip.compress(b"hello" * 1_000), "not a tar"),
        (bytes(10_240), "no space and no Markdown"),
        (tar([("src/main.py", b"print()"), ("README.txt", b"x")]), "no space and no Markdown"),
        (tar([odd("folder", tarfile.DIRTYPE)]), "no space and no Markdown"),
    ],
    # The bytes hold the time at which they were packed.
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_archive_of_ours_is_told_what_it_is(world, body, reason):
    assert reason in refusal(world, body).detail


def test_a_good_archive_is_taken(world, space):
    # Else all refusals here would prove little.
    assert import_it(world, packed(space))


def change_manifest(files: dict[str, bytes], old: bytes, new: bytes) -> bytes:
    assert old in files[keys.MANIFEST]
    changed = {**files, keys.MANIFEST: files[keys.MANIFEST].replace(old, new, 1)}
    return targz([(f"demo/{name}", body) for name, body in changed.items()])


@each(
    ("old", "new", "reason"),
    [
        (b'"name": "_rules.md"', b'"name": "_rulez.md"', "_rulez.md', which the archive does not have"),
        (b'"name": "_rules.md"', b'"name": "_meta.json"', "twice"),
        (b'"sha256": "', b'"sha256": "0', "was changed"),
        (b'"space_id": "demo"', b'"space_id": "other"', "belongs to another space"),
        (b'"format": "live-memory-archive"', b'"format": "other"', "can't be read"),
        (b'"version": 1', b'"version": 2', "can't be read"),
        (b'  "objects": [', b'  "objects": {', "can't be read"),
        (b'"metadata": {', b'"metadata": {"a\\r\\nb": "x", ', "can't be read"),
        (b'"metadata": {', b'"metadata": {"x": "' + b"y" * 501 + b'", ', "can't be read"),
        (b'"consolidation": "1"', b'"consolidation": "' + b"9" * 400 + b'"', "can't be read"),
        (b'"size": ', b'"x": "' + b"y" * archive.LINE_BYTES + b'", "size": ', "can't be read"),
        (b"\n  ]\n}", b"", "can't be read"),
        (b"\n  ]\n}", b"\n  ]\n}, 1", "can't be read"),
        (b'"left_out": []', b'"left_out": ' + b"[" * 100_000 + b"]" * 100_000, "can't be read"),
        (b'"size": ', b'"size": ' + b"[" * 100_000 + b"]" * 100_000 + b', "x": ', "can't be read"),
    ],
)
def test_a_wrong_manifest_is_refused(world, space, old, new, reason):
    assert reason in refusal(world, change_manifest(space, old, new)).detail


def test_what_the_manifest_does_not_name_is_refused(world, space):
    members = [(f"demo/{name}", body) for name, body in space.items()]
    assert "does not name 'x'" in refusal(world, targz([*members, ("demo/x", b"")])).detail
    for missing in (keys.META, keys.MANIFEST):
        without = [(path, body) for path, body in members if not path.endswith(missing)]
        assert f"demo/{missing}" in refusal(world, targz(without)).detail


@each(
    ("changes", "reason"),
    [
        ({"space_id": "other"}, "belongs to another space"),
        ({"space_id": 1}, "not a valid space record"),
        ({"created_at": "yesterday"}, "not a valid space record"),
        ({"description": "x" * 501}, "description"),
        ({"consolidation_threshold": -1}, "consolidation_threshold"),
        ({"bank_chars": 1_999}, "bank_chars"),
        ({"bank_chars": -1}, "bank_chars"),
        ({"changes": 0, "consolidation_count": 0}, "a record of change 1"),
        ({"deleted_at": "2026-01-01T00:00:00Z"}, "deleted"),
        ({"description": "\ud800"}, "not a valid space record"),
    ],
)
def test_a_head_that_is_none_is_refused(world, space, changes, reason):
    head = json.dumps({**json.loads(space[keys.META]), **changes}).encode()
    assert reason in refusal(world, packed({**space, keys.META: head})).detail


@each("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"space_id": "demo"}'])
def test_a_head_that_can_not_be_read_is_refused(world, space, body):
    assert "not a valid space record" in refusal(world, packed({**space, keys.META: body})).detail


@each(
    ("name", "reason"),
    [
        ("live/readme.md", "does not have the name of a note"),
        ("live/20260230T000000_ann_todo_00000000.md", "does not have the name of a note"),
        ("bank/_x.md", "not a bank file"),
        ("bank/a b.md", "not a bank file"),
        ("bank/a.md/b.md", "not a bank file"),
        ("_lease.json", "a lease"),
        ("_runs/01HZZZZZZZ0000000000000001.plan.json", "a lease"),
        ("_search/1-000001.sqlite", "a lease"),
    ],
)
def test_names_that_break_the_rules_of_a_space_are_refused(world, space, name, reason):
    assert reason in refusal(world, packed({**space, name: b"{}"})).detail


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("live/20260220T140000_ann_todo_00000000.md", inspection.NOTE_BYTES),
        ("bank/a.md", limits.BANK_FILE_BYTES),
        ("_rules.md", limits.RULES_BYTES),
        ("_synthesis.md", inspection.SYNTHESIS_BYTES),
        ("_meta.json", inspection.META_BYTES),
        ("conversations/a", 5_000),
    ],
)
def test_what_is_too_large_for_its_kind_is_refused(world, space, name, limit, monkeypatch):
    if name.startswith("conv"):
        monkeypatch.setattr(inspection, "OBJECT_BYTES", limit)
    error = refusal(world, packed({**space, name: b"x" * (limit + 1)}))
    assert isinstance(error, TooLarge)
    assert f"demo/{name}" in error.detail
    assert str(limit) in error.detail


def test_two_spaces_in_one_archive_are_refused(world, space):
    assert "more than one" in refusal(world, packed(space, more=[("other/_rules.md", b"x")])).detail
    assert "more than one" in refusal(world, packed(space, more=[("other/_meta.json", b"{}")])).detail
    assert "more than one" in refusal(world, packed(space, more=[("loose", b"x")])).detail


def test_the_heads_of_many_spaces_are_not_gathered(world, space):
    members = [("a/_meta.json", b"{}"), ("b/_meta.json", b"{}")]
    # What is behind the second one would be told as damage.
    assert "more than one space" in refusal(world, tar(members).rstrip(b"\0") + b"garbage" * 200).detail


def test_a_folder_that_can_not_be_a_space_is_refused(world, space):
    assert "the id of a space" in refusal(world, packed(space, folder="a space")).detail


def test_another_spaces_archive_under_this_name_is_refused(world, space):
    assert "belongs to another space" in refusal(world, packed(space, folder="other")).detail


def test_a_large_manifest_of_nothing_costs_no_memory_beside_itself(world, space):
    lines = ",\n".join(["    [" + "[]," * 200 + "[]]"] * 2_000).encode()
    body = change_manifest(space, b'  "objects": [\n', b'  "objects": [\n' + lines + b",\n")
    tracemalloc.start()
    assert "can't be read" in refusal(world, body).detail
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def numbered(world: World, monkeypatch: pytest.MonkeyPatch, objects: int = 4) -> list[bytes]:
    """The archives of a space that has several."""
    monkeypatch.setattr(archive, "ARCHIVE_OBJECTS", objects)
    export_now(world)
    world.settle()
    return downloads(world, export_now(world))


def test_numbered_archives_are_taken_all_in_order_and_of_one_export_or_not_at_all(monkeypatch):
    world = lived_in()
    first, second, third = numbered(world, monkeypatch)
    world.clock.move(60)
    world.note("later")
    other = numbered(world, monkeypatch)[1]

    for bodies in ((first,), (first, second), (second, first, third), (first, third, second), (first, second, other)):
        problem = refusal(world, *bodies)
        assert isinstance(problem, InvalidArchive | TooLarge)
    assert "Send all of them, in their order." in refusal(world, first, second).detail
    assert "is in two of the archives" in refusal(world, first, second, second).detail
    assert import_it(world, first, second, third)


def test_archives_of_two_exports_of_one_backup_in_other_groups_are_refused(monkeypatch):
    world = lived_in()
    first = numbered(world, monkeypatch, 6)
    # As a service with other bounds makes them of the same backup.
    steps.clear_archives(world.process, "demo")
    second = numbered(world, monkeypatch, 7)
    assert (len(first), len(second)) == (2, 2)
    assert not {"demo/bank/log.md"} & {*unpack(first[0]), *unpack(second[1])}

    detail = refusal(world, first[0], second[1]).detail

    assert detail.startswith("The archives are of different exports")
    assert "Download all archives of one export again" in detail
    assert import_it(world, *second)


def manifest_of(body: bytes, **fields: object) -> bytes:
    """The archive with other fields in its manifest; None leaves one out."""
    files = unpack(body)
    head, objects = files["demo/_manifest.json"].split(b',\n  "objects": [')
    changed = {name: value for name, value in {**json.loads(head + b"\n}"), **fields}.items() if value is not None}
    text = json.dumps(changed, indent=2).encode().removesuffix(b"\n}")
    return targz([*list(files.items())[:-1], ("demo/_manifest.json", text + b',\n  "objects": [' + objects)])


def test_numbered_archives_name_the_same_life_of_the_space_and_one_checksum(monkeypatch):
    world = lived_in()
    first, second, third = numbered(world, monkeypatch)
    assert "different exports" in refusal(world, first, second, manifest_of(third, uid="another")).detail
    assert "can't be read" in refusal(world, first, second, manifest_of(third, contents_sha256=None)).detail
    assert "can't be read" in refusal(world, manifest_of(first, contents_sha256=[]), second, third).detail
    assert import_it(world, first, second, manifest_of(third))


def test_the_one_archive_of_a_space_from_before_archives_had_numbers_is_imported():
    world = lived_in()
    body = manifest_of(exported(world), archive=None, archives=None, contents_sha256=None)
    assert import_it(world, body)


def test_the_bounds_of_archives_hold_for_all_of_a_space_together(monkeypatch):
    world = lived_in()
    bodies = numbered(world, monkeypatch)
    monkeypatch.setattr(inspection, "MEMBERS", 8)
    assert "8 members together" in refusal(world, *bodies).detail
    monkeypatch.undo()
    sizes = [sum(len(body) for body in unpack(one).values()) for one in bodies]
    monkeypatch.setattr(unpacking, "UNPACKED_BYTES", sum(sizes) - 1)
    assert isinstance(refusal(world, *bodies), TooLarge)
    monkeypatch.setattr(unpacking, "UNPACKED_BYTES", 4 << 30)
    manifests = [len(unpack(one)["demo/_manifest.json"]) for one in bodies]
    monkeypatch.setattr(inspection, "MANIFESTS_BYTES", sum(manifests) - 1)
    assert "_manifest.json" in refusal(world, *bodies).detail
