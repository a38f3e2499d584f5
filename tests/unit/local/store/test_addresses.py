"""Addresses of objects: each is good for what it was made for, and for nothing else."""

from pathlib import Path
from typing import Any

import pytest

from livemem.store import presigned
from livemem.store.objects import Store
from local.front.httpd import Request, Response
from local.store.addresses import PREFIX, AddressedStore
from tests.unit.local.store.support import BUCKET, opened

HOST = "http://service"


class World:
    """A store with addresses, and the time."""

    def __init__(self, root: Path) -> None:
        self.now = 1_000.0
        self.files = opened(root)
        self.addressed: Any = AddressedStore(self.files, HOST, lambda: self.now)
        self.store = Store(BUCKET, self.addressed, self.addressed)  # type: ignore[arg-type]

    def ask(self, method: str, url: str, body: bytes = b"", **headers: str) -> Response:
        return self.addressed.answer(Request(method, url.removeprefix(HOST), tuple(headers.items()), body))


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.store.put("_exports/é a.tar", b"archive")
    made.store.put("secret", b"secret")
    return made


def test_an_address_gives_the_object_to_who_has_it_and_a_browser_saves_it(world: World):
    url = presigned.get_url(world.store, "_exports/é a.tar", "demo.tar")

    answer = world.ask("GET", url)

    assert url.startswith(HOST + PREFIX)
    assert (answer.status, answer.body) == (200, b"archive")
    headers = dict(answer.headers)
    assert headers["Content-Disposition"] == 'attachment; filename="demo.tar"'
    assert (headers["Content-Type"], headers["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")


def test_a_download_goes_on_where_it_was_broken_off(world: World):
    answer = world.ask("GET", presigned.get_url(world.store, "secret", "s"), Range="bytes=2-")

    assert (answer.status, answer.body, dict(answer.headers)["Content-Range"]) == (206, b"cret", "bytes 2-5/6")


def test_an_address_of_an_upload_takes_the_size_that_it_was_made_for_and_no_other(world: World):
    url = presigned.put_url(world.store, "_uploads/a", 7)

    assert world.addressed.most_bytes(url.removeprefix(HOST)) == 7
    assert [world.ask("PUT", url, body).status for body in (b"archive, and more", b"short", b"archive")] == [
        *(403, 403, 200)
    ]
    found = world.store.get("_uploads/a")
    assert found
    assert found.body == b"archive"


def test_nobody_can_change_an_address_or_make_one(world: World):
    got, put = presigned.get_url(world.store, "secret", "s"), presigned.put_url(world.store, "secret", 7)
    text, _, signature = got.rpartition(".")
    other = text[:-3] + ("A" if text[-3] != "A" else "B") + text[-2:]
    made_elsewhere = World(world.files.root).addressed.generate_presigned_url(
        "get_object", Params={"Bucket": BUCKET, "Key": "secret", "ResponseContentDisposition": "x"}, ExpiresIn=60
    )
    bad = (f"{other}.{signature}", text, f"{text}.", f"{text}.é", HOST + PREFIX, HOST + PREFIX + ".", made_elsewhere)

    assert {world.ask("GET", url).status for url in bad} == {403}
    assert {world.addressed.most_bytes(url.removeprefix(HOST)) for url in bad} == {0}
    assert [world.ask(method, got, b"replace").status for method in ("PUT", "DELETE", "HEAD", "POST")] == [403] * 4
    assert world.ask("GET", put).status == 403
    found = world.store.get("secret")
    assert found
    assert found.body == b"secret"


def test_an_address_is_good_until_its_time_is_over(world: World):
    got, put = presigned.get_url(world.store, "secret", "s"), presigned.put_url(world.store, "secret", 1)

    world.now += presigned.SECONDS - 1
    assert world.ask("GET", got).status == 200
    world.now += 1
    assert [world.ask("GET", got).status, world.ask("PUT", put, b"x").status] == [403, 403]
    assert world.addressed.most_bytes(put.removeprefix(HOST)) == 0


def test_an_address_of_an_object_that_is_gone_is_a_404(world: World):
    url = presigned.get_url(world.store, "secret", "s")
    world.store.delete("secret")

    assert world.ask("GET", url).status == 404


def test_an_address_is_made_for_reading_and_writing_alone(world: World):
    with pytest.raises(KeyError):
        world.addressed.generate_presigned_url("delete_object", Params={"Bucket": BUCKET, "Key": "a"}, ExpiresIn=60)
