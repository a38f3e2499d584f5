"""Files of folders, tars and zips that anybody may have made: with bounds, and nothing from elsewhere."""

import gzip
import json
import os
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_memory.cli.imports import detection, files, members, tars, zips
from live_memory.cli.imports.unfit import BadSource
from tests.support.archives import odd, tar, targz
from tests.support.cases import each
from tests.support.sources import OLD_SPACE, chat_zip, claude_chat, old_bucket, write

PATHS = [
    "../x.md",
    "a/../../x.md",
    "/etc/x.md",
    "C:/x.md",
    "a\\x.md",
    "a//x.md",
    "a/./x.md",
    "a\nb.md",
    "x" * 901 + ".md",
]


def contents(path):
    return {file.path: b"".join(file.content) for file in files.files(path)}


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, body in members.items():
            made.writestr(
                name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name), body, zipfile.ZIP_DEFLATED
            )
    return path


def saved(path, body):
    path.write_bytes(body)
    return path


GOOD = {"notes/a.md": b"# A\n", "notes/b/c.md": b"x" * 600_000, "notes/d.md": b"y" * 512, "notes/e.md": b""}


def test_a_folder_a_tar_a_targz_and_a_zip_give_the_same_files(tmp_path):
    assert contents(write(tmp_path / "folder", GOOD)) == GOOD
    assert contents(saved(tmp_path / "a.tar", tar(GOOD.items()))) == GOOD
    assert contents(saved(tmp_path / "a.tgz", targz(GOOD.items()))) == GOOD
    assert contents(zipped(tmp_path / "a.zip", GOOD)) == GOOD


def test_files_that_nobody_reads_are_passed_over(tmp_path):
    path = saved(tmp_path / "a.tgz", targz(GOOD.items()))
    assert [file.path for file in files.files(path)] == list(GOOD)


@each("name", PATHS)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path, name):
    good = ("a.md", b"a")
    with pytest.raises(BadSource):
        contents(saved(tmp_path / "a.tar", tar([good, (name, b"x")])))
    with pytest.raises(BadSource):
        contents(zipped(tmp_path / "a.zip", dict([good, (name, b"x")])))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, b"S"])
def test_links_and_devices_of_a_tar_are_refused(tmp_path, kind):
    with pytest.raises(BadSource):
        contents(saved(tmp_path / "a.tar", tar([odd("a.md", kind, linkname="/etc/passwd")])))


def test_links_of_a_zip_are_refused(tmp_path):
    link = zipfile.ZipInfo("a.md")
    link.external_attr = 0o120777 << 16
    with pytest.raises(BadSource, match="link"):
        contents(zipped(tmp_path / "a.zip", {link: b"/etc/passwd"}))


@pytest.mark.parametrize("below", ["a.md", "folder"])
def test_links_of_a_folder_are_refused_and_never_followed(tmp_path, below):
    top = write(tmp_path / "top", {"b.md": "b"})
    (top / below).symlink_to(tmp_path)
    with pytest.raises(BadSource, match="symbolic link"):
        contents(top)


def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(BadSource, match="neither a file"):
        contents(tmp_path)


@pytest.mark.parametrize("pack", [tar, targz])
def test_a_member_that_is_there_twice_is_refused(tmp_path, pack):
    with pytest.raises(BadSource, match="twice"):
        contents(saved(tmp_path / "a.tar", pack([("a.md", b"1"), ("a.md", b"2")])))


def test_a_member_that_is_in_a_zip_twice_is_refused(tmp_path):
    with pytest.raises(BadSource, match="twice"), pytest.warns(UserWarning, match="Duplicate"):
        contents(zipped(tmp_path / "a.zip", {zipfile.ZipInfo("a.md"): b"1", zipfile.ZipInfo("a.md"): b"2"}))


def test_hidden_files_are_no_part_of_a_source(tmp_path):
    hidden = {".git/HEAD": "x", ".obsidian/a.md": "x", "__MACOSX/a.md": "x", "b/.keep": "", "b/c.md": "c"}
    assert list(contents(write(tmp_path / "top", hidden))) == ["b/c.md"]


def test_a_bomb_of_gzip_is_left_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(tars, "FREE_BYTES", 1 << 20)
    bomb = gzip.compress(tar([("a.md", bytes(64 << 20))]))
    path = saved(tmp_path / "a.tgz", bomb)
    seen = []
    with pytest.raises(BadSource, match="times its size"):
        seen.extend(len(piece) for file in files.files(path) for piece in file.content)
    assert sum(seen) <= (1 << 20) + tars.RATIO * len(bomb) + members.PIECE


def test_a_bomb_of_zip_is_refused_by_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(zips, "FREE_BYTES", 1 << 20)
    with pytest.raises(BadSource, match="times its size"):
        contents(zipped(tmp_path / "a.zip", {"a.md": bytes(24 << 20)}))


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    for module in (files, tars, zips):
        monkeypatch.setattr(module, "UNPACKED_BYTES", 500_000)
    for path in (
        write(tmp_path / "top", GOOD),
        saved(tmp_path / "a.tar", tar(GOOD.items())),
        zipped(tmp_path / "a.zip", GOOD),
    ):
        with pytest.raises(BadSource, match="more than 0 GiB"):
            contents(path)


def test_more_members_than_a_space_has_are_refused(tmp_path, monkeypatch):
    for module in (files, tars, zips):
        monkeypatch.setattr(module, "MEMBERS", 3)
    for path in (
        write(tmp_path / "top", GOOD),
        saved(tmp_path / "a.tar", tar(GOOD.items())),
        zipped(tmp_path / "a.zip", GOOD),
    ):
        with pytest.raises(BadSource, match="more than 3"):
            contents(path)


def test_a_name_of_gigabytes_is_not_read_into_memory(tmp_path):
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 2 << 30
    path = tmp_path / "a.tar"
    with path.open("wb") as opened:
        opened.write(info.tobuf(tarfile.GNU_FORMAT))
        opened.truncate(3 << 30)
    with pytest.raises(BadSource, match="header"):
        contents(path)


def test_a_zip_with_gigabytes_of_names_is_not_read_into_memory(tmp_path):
    end = b"PK\x05\x06" + bytes(4) + (1).to_bytes(2, "little") * 2 + (2 << 30).to_bytes(4, "little") + bytes(6)
    path = tmp_path / "a.zip"
    with path.open("wb") as opened:
        opened.write(b"PK\x03\x04")
        opened.truncate(2 << 30)
        opened.seek(0, 2)
        opened.write(end)
    with pytest.raises(BadSource, match="of names"):
        contents(path)


def test_an_encrypted_zip_is_refused_with_what_to_do(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.md": b"a"})
    body = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        body[body.index(mark) + flags] |= 1
    with pytest.raises(BadSource, match="encrypted"):
        contents(saved(path, bytes(body)))


@pytest.mark.parametrize("end", [511, 512, 700, -1500])
def test_a_tar_that_was_cut_is_refused(tmp_path, end):
    with pytest.raises(BadSource):
        contents(saved(tmp_path / "a.tar", tar(GOOD.items()).rstrip(b"\0")[:end]))


def test_a_broken_header_is_no_end(tmp_path):
    body = bytearray(tar([("a.md", b"a"), ("b.md", b"b")]))
    body[1024:1030] = b"xxxxxx"
    with pytest.raises(BadSource, match="damaged"):
        contents(saved(tmp_path / "a.tar", bytes(body)))


@given(st.data())
def test_whatever_is_changed_in_an_archive_its_files_come_or_one_clear_error(tmp_path_factory, data):
    top = tmp_path_factory.mktemp("fuzz")
    made = [
        targz([("a.md", b"a" * 40)]),
        tar([("a.md", b"a" * 40)]),
        zipped(top / "z", {"a.md": b"a" * 40}).read_bytes(),
    ]
    body = bytearray(data.draw(st.sampled_from(made)))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(1, len(body)))
    try:
        found = contents(saved(top / "a", bytes(body[:end])))
    except BadSource:
        return
    assert all(not members.path_problem(path) for path in found)


def kind(path):
    return detection.look(path).kind


def test_what_a_source_is_is_told_by_its_files(tmp_path):
    assert kind(chat_zip(tmp_path / "claude.zip", [claude_chat()])) == "chats"
    assert kind(write(tmp_path / "gpt", {"conversations-000.json": "[]", "chat.html": ""})) == "chats"
    assert kind(saved(tmp_path / "my.json", json.dumps([claude_chat()]).encode())) == "chats"
    assert kind(write(tmp_path / "alpha", OLD_SPACE)) == "bucket"
    assert kind(old_bucket(tmp_path / "bucket")) == "bucket"
    assert kind(write(tmp_path / "bank", {"a.md": "# A", "b/c.png": ""})) == "markdown"
    assert (
        kind(saved(tmp_path / "e.tgz", targz([("demo/_meta.json", b"{}"), ("demo/_manifest.json", b"{}")]))) == "export"
    )


@each("name", ["a.txt", "a.md", "a.zip", "a.tar.gz", "a"])
@each("body", [b"", b"hello", b"\x1f\x8b", b"PK\x03\x04", bytes(1024), b"\x7fELF"])
def test_what_is_nothing_of_it_is_told_what_could_be(tmp_path, name, body):
    with pytest.raises(BadSource):
        detection.look(saved(tmp_path / name, body))


def test_nothing_there_and_a_url_are_told(tmp_path):
    with pytest.raises(BadSource, match="no file or folder"):
        detection.look(tmp_path / "nothing")
    with pytest.raises(BadSource, match="aws s3 sync"):
        detection.look(type(tmp_path)("s3://bucket/demo"))


def test_an_export_that_was_unpacked_is_told_to_be_packed(tmp_path):
    with pytest.raises(BadSource, match=r"tar\.gz file instead"):
        detection.look(write(tmp_path, {"demo/_meta.json": "{}", "demo/_manifest.json": "{}"}))


def test_conversations_of_gigabytes_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "conversations.json"
    with path.open("wb") as opened:
        opened.truncate(2 << 30)
    with pytest.raises(BadSource, match="at most 512 MiB"):
        detection.look(path)
