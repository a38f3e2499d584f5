"""The files of the page as a browser gets them: kept, compressed, not sent twice, and bound by a policy."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from livemem_http import site
from livemem_http.site import Site
from tests.support.cases import each
from tests.support.functions import Context, loaded, request

ROOT = Path(__file__).resolve().parents[3]
STATIC = ROOT / "functions" / "page" / "static"
INLINE = re.compile(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", re.IGNORECASE)
ELSEWHERE = re.compile(r"""(?:src|href|url\(|from\s|import)\s*=?\s*["'(]?\s*(?:https?:)?//""")


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "index.html").write_text('<script type="module" src="__BASE__/page.js"></script>')
    (tmp_path / "docs.html").write_text("<title>The HTTP API</title>")
    (tmp_path / "page.js").write_text("export const long = 1;\n" * 100)
    (tmp_path / "vendor" / "dot.png").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "secret.key").write_text("of no known type")
    return tmp_path


@pytest.fixture
def pages(folder) -> Site:
    return Site(folder)


def ask(pages, method="GET", route=site.ASSET, headers=None, **path):
    """A request as API Gateway sends it."""
    event = request(method, route.replace("{path+}", "{path}"), token=None, headers=headers, **path)
    event["routeKey"] = f"{method} {route}"
    return pages.answer(event)


def asset(pages, path, version=None, **more):
    return ask(pages, version=version or pages.version, path=path, **more)


def body(answer) -> bytes:
    raw = base64.b64decode(answer["body"]) if answer["isBase64Encoded"] else answer["body"].encode()
    return gzip.decompress(raw) if answer["headers"].get("Content-Encoding") == "gzip" else raw


def test_the_page_names_its_files_by_a_version_that_is_a_digest_of_all_files(folder, pages):
    assert (
        body(ask(pages, route="/")) == f'<script type="module" src="/assets/{pages.version}/page.js"></script>'.encode()
    )
    assert Site(folder).version == pages.version

    (folder / "vendor" / "dot.png").write_bytes(b"other")
    assert Site(folder).version != pages.version
    (folder / "vendor" / "dot.png").write_bytes(b"\x89PNG\x00\xff")
    (folder / "vendor" / "dot.png").rename(folder / "vendor" / "moved.png")
    assert Site(folder).version != pages.version


def test_a_file_is_sent_as_it_is_and_may_be_kept_for_a_year(pages):
    answer = asset(pages, "vendor/dot.png")

    assert (answer["statusCode"], body(answer)) == (200, b"\x89PNG\x00\xff")
    assert answer["headers"]["Content-Type"] == "image/png"
    assert answer["headers"]["Cache-Control"] == "public, max-age=31536000, immutable"


def test_the_page_itself_is_asked_for_each_time_and_not_sent_twice(pages):
    first = ask(pages, route="/")
    tag = first["headers"]["ETag"]

    assert first["headers"]["Cache-Control"] == "no-cache"
    for named in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        again = ask(pages, route="/", headers={"if-none-match": named})
        assert (again["statusCode"], again["body"]) == (304, "")
        assert again["headers"]["ETag"] == tag
    assert ask(pages, route="/", headers={"if-none-match": '"x"'})["statusCode"] == 200


def test_long_files_are_compressed_for_those_who_take_it(pages):
    packed = asset(pages, "page.js", headers={"Accept-Encoding": "gzip, deflate, br"})
    plain = asset(pages, "page.js")

    assert packed["headers"]["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain["headers"]
    assert body(packed) == body(plain)
    assert packed["headers"]["Vary"] == plain["headers"]["Vary"] == "Accept-Encoding"
    assert packed["headers"]["ETag"] == plain["headers"]["ETag"]
    assert len(packed["body"]) < len(plain["body"]) / 5
    assert "Content-Encoding" not in asset(pages, "vendor/dot.png", headers={"accept-encoding": "gzip"})["headers"]


def test_head_has_the_headers_of_get(pages):
    for route, path in (("/", {}), ("/docs", {}), (site.ASSET, {"version": pages.version, "path": "page.js"})):
        assert ask(pages, "HEAD", route, **path) == ask(pages, "GET", route, **path)


@each(
    ("path", "version"),
    [
        ("missing.js", None),
        ("secret.key", None),
        ("../app.py", None),
        ("vendor/../page.js", None),
        ("/etc/passwd", None),
        ("vendor", None),
        ("page.js\x00", None),
        ("page.js", "0123456789abcdef"),
        ("page.js", "__BASE__"),
    ],
)
def test_whatever_is_no_file_of_this_version_is_a_problem_document_that_no_cache_keeps(pages, path, version):
    answer = asset(pages, path, version)

    assert answer["statusCode"] == 404
    assert json.loads(answer["body"])["code"] == "route_not_found"
    assert answer["headers"]["Cache-Control"] == "no-store"
    assert answer["headers"]["X-Content-Type-Options"] == "nosniff"


@each(
    "changed",
    [{"routeKey": "GET /x"}, {"routeKey": None}, {"rawPath": "/else"}, {"pathParameters": {"version": 1}}, {}],
)
def test_an_event_that_does_not_agree_with_itself_has_no_file(pages, changed):
    event = request("POST" if not changed else "GET", "/", token=None) | {"routeKey": "GET /"} | changed

    assert pages.answer(event)["statusCode"] == 404


def test_every_answer_carries_the_policy(pages):
    for answer in (ask(pages, route="/"), asset(pages, "page.js"), asset(pages, "none.js")):
        policy = dict(part.split(" ", 1) for part in answer["headers"]["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert "unsafe" not in str(policy)
        assert "*" not in str(policy)


def test_the_function_serves_its_own_files_without_a_setting_or_the_store(monkeypatch):
    monkeypatch.delenv("S3_BUCKET_NAME", raising=False)
    handler = loaded("page").handler
    pages = [handler(request("GET", path, token=None), Context()) for path in site.PAGES]

    assert [page["statusCode"] for page in pages] == [200] * len(site.PAGES)
    named = [path for page in pages for path in re.findall(r'(?:src|href)="(/assets/[^"]+)"', body(page).decode())]
    assert named
    for path in named:
        version, _, name = path.removeprefix("/assets/").partition("/")
        event = request("GET", "/assets/{version}/{path}", token=None, version=version, path=name)
        assert handler(event | {"routeKey": f"GET {site.ASSET}"}, Context())["statusCode"] == 200, path


def test_every_file_has_a_known_type_and_nothing_in_a_page_needs_what_the_policy_forbids():
    files = [one for one in STATIC.rglob("*") if one.is_file()]

    assert [one.name for one in files if one.suffix not in site.TYPES] == []
    for page in STATIC.rglob("*.html"):
        assert not INLINE.search(page.read_text()), page
    for one in files:
        if one.suffix in {".html", ".css", ".js"}:
            assert not ELSEWHERE.search(one.read_text()), one
