"""What a store does where the service depends on it: one function per behaviour, each with its answer in words.

What breaks the service, or would, is **bold**.
"""

import hashlib
import threading
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from livemem.errors import StoreUnavailable
from livemem.store.capability_check import has_conditional_writes
from livemem.store.clients import open_store
from livemem.store.objects import Store
from tests.support.object_stores import Target

OTHER_ETAG = '"00000000000000000000000000000000"'
WRITERS = 16
ROUNDS = 20
MANY = 1_050
AT_ONCE = 16


@dataclass
class Look:
    """A store that is being looked at: everything happens below `prefix` of `bucket`."""

    target: Target
    client: Any
    bucket: str
    prefix: str

    def key(self, name: str = "") -> str:
        """A key below the prefix, a new one unless named."""
        return f"{self.prefix}{name or uuid.uuid4().hex}"

    def put(self, key: str, body: bytes = b"x", **condition: Any) -> str:
        """PUT an object; returns its ETag."""
        return str(self.client.put_object(Bucket=self.bucket, Key=key, Body=body, **condition)["ETag"])

    def body(self, key: str) -> bytes | None:
        """The object's content, None where there is none."""
        try:
            return bytes(self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read())
        except ClientError:
            return None

    def list(self, prefix: str = "", **more: Any) -> Any:
        """One LIST request below the prefix."""
        return self.client.list_objects_v2(Bucket=self.bucket, Prefix=self.prefix + prefix, **more)


def answer(request: Callable[[], Any]) -> str:
    """The status of a request, with the code if the store refuses."""
    try:
        done = request()
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
        code = error.response.get("Error", {}).get("Code", "")
        return f"{status} {code}" if code and code != str(status) else str(status)
    except (BotoCoreError, urllib.error.URLError) as error:
        return type(error).__name__
    return str(done["ResponseMetadata"]["HTTPStatusCode"]) if isinstance(done, dict) else "200"


def _kept(look: Look, key: str, told: str) -> str:
    """What was answered to a request that must not have replaced b"first", and whether it did."""
    return told if look.body(key) == b"first" else f"**{told}, overwritten**"


def _create_only(look: Look) -> str:
    key = look.key()
    look.put(key, b"first", IfNoneMatch="*")
    return _kept(look, key, answer(lambda: look.put(key, b"second", IfNoneMatch="*")))


def _swap(look: Look) -> str:
    key = look.key()
    look.put(key, b"zeroth")
    look.put(key, b"first", IfMatch=look.put(key, b"minus first"))
    return _kept(look, key, answer(lambda: look.put(key, b"second", IfMatch=OTHER_ETAG)))


def _swap_of_nothing(look: Look) -> str:
    key = look.key()
    told = answer(lambda: look.put(key, b"x", IfMatch=OTHER_ETAG))
    return told if look.body(key) is None else f"**{told}, written**"


def _conditional_delete(look: Look) -> str:
    key = look.key()
    look.put(key, b"first")
    told = answer(lambda: look.client.delete_object(Bucket=look.bucket, Key=key, IfMatch=OTHER_ETAG))
    return told if look.body(key) == b"first" else f"{told}, deleted"


def _delete_of_nothing(look: Look) -> str:
    plain = answer(lambda: look.client.delete_object(Bucket=look.bucket, Key=look.key()))
    condition = answer(lambda: look.client.delete_object(Bucket=look.bucket, Key=look.key(), IfMatch=OTHER_ETAG))
    return f"{plain}; with If-Match {condition}"


def _conditional_get(look: Look) -> str:
    key = look.key()
    etag = look.put(key)
    return answer(lambda: look.client.get_object(Bucket=look.bucket, Key=key, IfNoneMatch=etag))


def _missing(look: Look) -> str:
    get = answer(lambda: look.client.get_object(Bucket=look.bucket, Key=look.key()))
    return f"{get}; no bucket {answer(lambda: look.client.get_object(Bucket=f'none-{uuid.uuid4().hex}', Key='a'))}"


def _race(look: Look, condition: Callable[[str], dict[str, str]]) -> str:
    """Sixteen writers at once, several times: how many win each time, and what the others are told."""
    winners: Counter[int] = Counter()
    refusals: Counter[str] = Counter()
    with ThreadPoolExecutor(WRITERS) as pool:
        for _ in range(ROUNDS):
            key = look.key()
            chosen = condition(key)
            barrier = threading.Barrier(WRITERS)

            def write(number: int, key: str = key, chosen: Any = chosen, barrier: Any = barrier) -> str:
                barrier.wait()
                return answer(lambda: look.put(key, f"writer {number}".encode(), **chosen))

            told = Counter(pool.map(write, range(WRITERS)))
            winners[told.pop("200", 0)] += 1
            refusals += told
    counts = sorted(winners)
    won = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    others = ", ".join(code for code, _ in refusals.most_common())
    return f"1 wins; others {others}" if counts == [1] else f"**{won} win**" + (f"; others {others}" if others else "")


def _creators(look: Look) -> str:
    return _race(look, lambda _: {"IfNoneMatch": "*"})


def _swappers(look: Look) -> str:
    return _race(look, lambda key: {"IfMatch": look.put(key, b"start")})


def _count_up(look: Look) -> str:
    """Sixteen count one number up at once: a lost count is a swap that was none, or a torn read that led to it."""
    key = look.key()
    look.put(key, b"0")

    def count(_: int) -> int:
        torn = 0
        for _ in range(500):
            found = look.client.get_object(Bucket=look.bucket, Key=key)
            body, etag = found["Body"].read(), found["ETag"]
            torn += len(etag) == 34 and etag.strip('"') != hashlib.md5(body, usedforsecurity=False).hexdigest()
            swap = partial(look.put, key, str(int(body) + 1).encode(), IfMatch=etag)
            if answer(swap) == "200":
                break
        return torn

    with ThreadPoolExecutor(WRITERS) as pool:
        torn = sum(pool.map(count, range(WRITERS)))
    counted = int(look.body(key) or b"0")
    torn_reads = f", {torn} reads with the ETag of other content" if torn else ""
    return "16" if counted == WRITERS and not torn else f"**{counted}**{torn_reads}"


def _paging(look: Look) -> str:
    names = [f"pages/{number:04d}/x" for number in range(MANY)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda name: look.put(look.key(name)), names))
    pages = list(look.client.get_paginator("list_objects_v2").paginate(Bucket=look.bucket, Prefix=look.key("pages/")))
    found = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    sizes = " + ".join(str(len(page.get("Contents", []))) for page in pages)
    return sizes if found == [look.key(name) for name in names] else f"**{sizes}, incomplete or out of order**"


def _folders(look: Look) -> str:
    page = look.list("pages/", Delimiter="/", StartAfter=look.key(f"pages/{MANY - 3:04d}/\U0010ffff"))
    found = [entry["Prefix"] for entry in page.get("CommonPrefixes", [])]
    return "yes" if found == [look.key(f"pages/{number:04d}/") for number in range(MANY - 2, MANY)] else "**no**"


def _delete_many(look: Look) -> str:
    found = [{"Key": look.key(f"pages/{number:04d}/x")} for number in range(1_000)]
    told = answer(lambda: look.client.delete_objects(Bucket=look.bucket, Delete={"Objects": found, "Quiet": True}))
    left = look.list("pages/").get("KeyCount")
    return told if left == MANY - 1_000 else f"**{told}, {left} left**"


def _order(look: Look) -> str:
    names = ["o-b/x", "o.b", "o/x", "oA", "o_b", "oa"]
    for name in names:
        look.put(look.key(f"order/{name}"))
    found = [entry["Key"] for entry in look.list("order/").get("Contents", [])]
    if found == [look.key(f"order/{name}") for name in names]:
        return "by bytes"
    return "**another order**" if len(found) == len(names) else "**incomplete**"


def _file_and_folder(look: Look) -> str:
    look.put(look.key("both/a.md"))
    told = answer(lambda: look.put(look.key("both/a.md/b.md")))
    both = len(look.list("both/").get("Contents", [])) == 2
    if told == "200" and not both:
        return "**taken, but never listed**"
    return "yes" if both else f"refused: {told}"


def _emptied_folder(look: Look) -> str:
    key = look.key("emptied/folder/x")
    look.put(key)
    look.client.delete_object(Bucket=look.bucket, Key=key)
    page = look.list("emptied", Delimiter="/")
    return "**stays listed**" if page.get("CommonPrefixes") or page.get("Contents") else "gone"


def _etags(look: Look) -> str:
    key = look.key("etags/a")
    first = look.put(key, b"same")
    listed = look.list("etags/")["Contents"][0]["ETag"]
    got = look.client.get_object(Bucket=look.bucket, Key=key)["ETag"]
    if not first == listed == got:
        return "**differ**"
    return "equal; same bytes, same ETag" if look.put(key, b"same") == first else "equal; new with each write"


def _metadata(look: Look) -> str:
    key = look.key()
    given = {"consolidation": "7", "by": "a name"}
    look.put(key, Metadata=given)
    found = look.client.get_object(Bucket=look.bucket, Key=key)["Metadata"]
    return "kept" if found == given else f"**{found or 'lost'}**"


def _copy(look: Look) -> str:
    key, twin = look.key(), look.key()
    etag = look.put(key, b"copied", Metadata={"a": "b"})
    told = answer(lambda: look.client.copy_object(Bucket=look.bucket, Key=twin, CopySource=f"{look.bucket}/{key}"))
    if look.body(twin) != b"copied":
        return f"**{told}**"
    found = look.client.get_object(Bucket=look.bucket, Key=twin)
    return "with metadata" if found["Metadata"] == {"a": "b"} and found["ETag"] == etag else "**without metadata**"


def _presigned(look: Look) -> str:
    key = look.key()
    where = {"Bucket": look.bucket, "Key": key}
    results = []
    for name, method, body in (("PUT", "put_object", b"signed"), ("GET", "get_object", None)):
        url = look.client.generate_presigned_url(method, Params=where, ExpiresIn=60)
        request = urllib.request.Request(url, data=body, method=name, headers={"Content-Type": "text/plain"})
        with suppress(urllib.error.URLError), urllib.request.urlopen(request, timeout=30) as response:
            results.append(name if body or response.read() == b"signed" else f"{name} of other content")
    return ", ".join(results) or "**no**"


def _signature(look: Look) -> str:
    if not look.target.access_key:
        return "not asked"
    stranger = look.target.client(secret_key="another-" + look.target.secret_key)
    told = answer(lambda: stranger.list_objects_v2(Bucket=look.bucket, MaxKeys=1))
    return "checked" if told != "200" else "not checked"


def _hybrid(look: Look) -> str:
    if not look.target.access_key:
        return "not asked"
    old = look.target.client(signature="s3")
    key = look.key()
    told = answer(lambda: old.put_object(Bucket=look.bucket, Key=key, Body=b"x"))
    if told != "200":
        return f"no: {told}"
    told = answer(lambda: old.delete_objects(Bucket=look.bucket, Delete={"Objects": [{"Key": key}]}))
    return "yes" if told == "200" else f"yes, but DeleteObjects {told}"


def _verdict(look: Look) -> str:
    """What the service itself decides; the column that counts."""
    if look.target.access_key:
        store = open_store(look.target.settings(look.bucket))
    else:
        store = Store(look.bucket, look.client, look.client)
    try:
        return "ok" if has_conditional_writes(store) else "unsupported"
    except StoreUnavailable:
        return "unreachable"


PROBE = "the service's capability check"
LOOKS: tuple[tuple[str, Callable[[Look], str]], ...] = (
    ("PUT If-None-Match: * over an object", _create_only),
    ("PUT If-Match with a stale ETag", _swap),
    ("PUT If-Match on a missing key", _swap_of_nothing),
    ("DELETE If-Match with a stale ETag", _conditional_delete),
    ("DELETE of a missing key", _delete_of_nothing),
    (f"{WRITERS} creators at once, {ROUNDS} times", _creators),
    (f"{WRITERS} swappers at once, {ROUNDS} times", _swappers),
    (f"{WRITERS} count up by compare-and-swap", _count_up),
    ("GET If-None-Match, unchanged", _conditional_get),
    ("GET of a missing key", _missing),
    (f"pages of a listing of {MANY:,}", _paging),
    ("Delimiter with StartAfter", _folders),
    ("DeleteObjects of 1,000", _delete_many),
    ("order of a listing", _order),
    ("`a.md` beside `a.md/b.md`", _file_and_folder),
    ("a folder whose last object is deleted", _emptied_folder),
    ("ETag of PUT, GET and LIST", _etags),
    ("user metadata", _metadata),
    ("CopyObject", _copy),
    ("presigned URLs", _presigned),
    ("SigV4", _signature),
    ("SigV2 on object requests (hybrid)", _hybrid),
    (PROBE, _verdict),
)
NEEDED = {
    "PUT If-None-Match: * over an object",
    "PUT If-Match with a stale ETag",
    "PUT If-Match on a missing key",
    f"{WRITERS} creators at once, {ROUNDS} times",
    f"{WRITERS} swappers at once, {ROUNDS} times",
    f"{WRITERS} count up by compare-and-swap",
    f"pages of a listing of {MANY:,}",
    "Delimiter with StartAfter",
    "DeleteObjects of 1,000",
    "order of a listing",
    "ETag of PUT, GET and LIST",
}
