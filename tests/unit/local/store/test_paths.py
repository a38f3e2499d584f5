from pathlib import PurePosixPath, PureWindowsPath

from hypothesis import given
from hypothesis import strategies as st

from local.store.paths import decode_key, encode_key, unbounded
from tests.support.cases import each

PARTS = st.one_of(
    st.sampled_from(
        [
            "",
            ".",
            "..",
            "a",
            "a.md",
            "%",
            "a%",
            "a%%",
            "%2F",
            "%+",
            "x" * 199,
            "y" * 201,
            "é" * 150,
            "con",
            "nul.md",
            "LPT1.a.b",
            "a.",
            "a..",
            "~",
        ]
    ),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
KEYS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)


@given(KEYS)
def test_a_path_leads_back_to_its_key(key):
    assert decode_key(encode_key(key)) == key


@given(KEYS)
def test_no_key_escapes_its_folder_or_breaks_a_file_system(key):
    for name in encode_key(key).split("/"):
        assert name not in {"", ".", ".."}
        assert name.isascii()
        assert name.isprintable()
        assert len(name) <= 230
        # Windows would take the first for a device, and leave out the last dot of the other.
        assert name.partition(".")[0].lower() not in {"con", "prn", "aux", "nul", "com1", "lpt9"}
        assert not name.endswith((".", " "))
        assert not set(name) & set('<>:"|?*\\')


@given(KEYS, KEYS)
def test_two_keys_never_want_the_same_file_nor_a_file_where_the_other_has_a_folder(one, other):
    first, second = encode_key(one), encode_key(other)
    if one != other:
        assert first != second
        assert not first.startswith(f"{second}/")
        assert not second.startswith(f"{first}/")


@each(
    ("key", "path"),
    [
        ("space/live/20260220T140000_agent_todo_1a2b3c4d.md", "space/live/20260220T140000_agent_todo_1a2b3c4d.md"),
        ("space/live/.keep", "space/live/.keep"),
        ("space/bank/v1.2/notes.md", "space/bank/v1.2%%/notes.md"),
        ("README", "README%"),
        ("../../etc/passwd", "..%%/..%%/etc/passwd%"),
        ("a//b.md", "a/%%/b.md"),
        ("a/", "a/%"),
        ("crème brûlée.md", "cr%C3%A8me%20br%C3%BBl%C3%A9e.md"),
        ("space/bank/con.md", "space/bank/%63on.md"),
        ("Nul", "%4Eul%"),
        ("live/12:30.", "live/12%3A30%2E"),
        ("console.md", "console.md"),
    ],
)
def test_names_are_readable(key, path):
    assert encode_key(key) == path


@each("path", ["a b.md", "a%%%.md", "%zz.md", "a", "a.b/c.md", "%C3%.md", "x.md%"])
def test_a_file_that_nobody_named_so_is_no_object(path):
    assert decode_key(path) is None


@each(
    ("root", "inside"),
    [
        (PureWindowsPath(r"C:\data"), "\\\\?\\C:\\data\\s3\\a"),
        (PureWindowsPath(r"\\server\share\data"), "\\\\?\\UNC\\server\\share\\data\\s3\\a"),
        (PureWindowsPath("\\\\?\\C:\\data"), "\\\\?\\C:\\data\\s3\\a"),
        (PurePosixPath("/data"), "/data/s3/a"),
    ],
)
def test_a_long_name_has_room_below_any_folder(root, inside):
    assert str(unbounded(root) / "s3/a") == inside
