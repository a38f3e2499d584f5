"""What backups, exports and imports ask of the store: copies, ranges, presigned URLs, no versions."""

import base64
import hashlib
import re
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

PART = 5 * 1024 * 1024


def refusal(call, *arguments, **named) -> str:
    with pytest.raises(ClientError) as error:
        call(*arguments, **named)
    return error.value.response["Error"]["Code"]


def fetch(url: str, method: str = "GET", body: bytes | None = None, **headers: str):
    """Status, headers and body; without the type that urllib would give a body."""
    request = urllib.request.Request(url, body, {"Content-Type": "", **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_a_copy_of_another_version_than_is_asked_for_is_refused(s3, bucket):
    source = {"Bucket": bucket, "Key": "space/a b é.md"}
    first = s3.put_object(**source, Body=b"first")["ETag"]
    s3.copy_object(Bucket=bucket, Key="copy", CopySource=source, CopySourceIfMatch=first)
    s3.put_object(**source, Body=b"second")
    copy = {"Bucket": bucket, "Key": "copy", "CopySource": source, "CopySourceIfMatch": first}
    assert refusal(s3.copy_object, **copy) == "PreconditionFailed"
    assert s3.get_object(Bucket=bucket, Key="copy")["Body"].read() == b"first"
    missing = {**copy, "CopySource": {"Bucket": bucket, "Key": "none"}}
    assert refusal(s3.copy_object, **missing) == "NoSuchKey"
    assert refusal(s3.create_multipart_upload, Bucket=bucket, Key="parts") == "NotImplemented"


def test_a_copy_has_the_bytes_the_type_and_the_metadata_of_its_source(s3, bucket):
    put = s3.put_object(
        Bucket=bucket,
        Key="space/live/a b é.md",
        Body=b"note",
        ContentType="text/markdown; charset=utf-8",
        Metadata={"agent": "one"},
    )
    s3.put_object(Bucket=bucket, Key="backup/a.md", Body=b"older", ContentType="x/y", Metadata={"old": "1"})
    copied = s3.copy_object(
        Bucket=bucket, Key="backup/a.md", CopySource={"Bucket": bucket, "Key": "space/live/a b é.md"}
    )
    assert copied["CopyObjectResult"]["ETag"] == put["ETag"]
    got = s3.get_object(Bucket=bucket, Key="backup/a.md")
    assert (got["Body"].read(), got["ETag"], got["Metadata"]) == (b"note", put["ETag"], {"agent": "one"})
    assert got["ContentType"] == "text/markdown; charset=utf-8"
    assert s3.head_object(Bucket=bucket, Key="space/live/a b é.md")["ETag"] == put["ETag"]


def test_a_copy_is_made_only_of_the_version_that_is_asked_for(s3, bucket):
    key = "space/live/a b é.md"
    first = s3.put_object(Bucket=bucket, Key=key, Body=b"first")["ETag"]
    source = {"Bucket": bucket, "Key": key}
    s3.copy_object(Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch=first)
    s3.put_object(Bucket=bucket, Key=key, Body=b"second")

    told = refusal(s3.copy_object, Bucket=bucket, Key="c", CopySource=source, CopySourceIfMatch=first)
    gone = refusal(s3.copy_object, Bucket=bucket, Key="c", CopySource=f"{bucket}/none", CopySourceIfMatch=first)

    assert (told, gone) == ("PreconditionFailed", "NoSuchKey")
    assert s3.get_object(Bucket=bucket, Key="c")["Body"].read() == b"first"


def test_a_copy_tells_the_checksum_that_is_asked_for(s3, bucket):
    s3.put_object(Bucket=bucket, Key="a", Body=b"note")
    expected = base64.b64encode(hashlib.sha256(b"note").digest()).decode()
    for source, target in (("a", "b"), ("b", "c")):
        copied = s3.copy_object(Bucket=bucket, Key=target, CopySource=f"{bucket}/{source}", ChecksumAlgorithm="SHA256")
        assert copied["CopyObjectResult"]["ChecksumSHA256"] == expected
    # Without being asked, the store goes by what it has.
    copied = s3.copy_object(Bucket=bucket, Key="d", CopySource=f"{bucket}/a")["CopyObjectResult"]
    assert "ChecksumSHA256" not in copied


def test_a_copy_is_made_only_while_its_source_is_the_version_that_is_asked_for(s3, bucket):
    etag = s3.put_object(Bucket=bucket, Key="a é", Body=b"one")["ETag"]
    source = {"Bucket": bucket, "Key": "a é"}
    s3.copy_object(Bucket=bucket, Key="b", CopySource=source, CopySourceIfMatch=etag)
    s3.put_object(Bucket=bucket, Key="a é", Body=b"two")

    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.copy_object(Bucket=bucket, Key="b", CopySource=source, CopySourceIfMatch=etag)

    assert s3.get_object(Bucket=bucket, Key="b")["Body"].read() == b"one"


def test_copies_side_by_side_are_all_made(s3, bucket):
    bodies = {f"space/{n}.md": str(n).encode() for n in range(60)}
    for key, body in bodies.items():
        s3.put_object(Bucket=bucket, Key=key, Body=body)

    def copy(key: str) -> None:
        s3.copy_object(Bucket=bucket, Key=f"backup/{key}", CopySource=f"{bucket}/{key}")

    with ThreadPoolExecutor(16) as executor:
        list(executor.map(copy, bodies))
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="backup/")["Contents"]
    assert {item["Key"]: item["ETag"].strip('"') for item in listed} == {
        f"backup/{key}": hashlib.md5(body).hexdigest() for key, body in bodies.items()
    }


def test_the_first_bytes_of_an_object_are_read_also_when_it_has_fewer(s3, bucket):
    s3.put_object(Bucket=bucket, Key="short", Body=b"short", Metadata={"k": "v"})
    s3.put_object(Bucket=bucket, Key="long", Body=b"x" * 4095 + b"yz")
    for key, expected, stated in (("short", b"short", "0-4/5"), ("long", b"x" * 4095 + b"y", "0-4095/4097")):
        got = s3.get_object(Bucket=bucket, Key=key, Range="bytes=0-4095")
        assert (got["Body"].read(), got["ContentRange"]) == (expected, f"bytes {stated}")
        assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
    s3.put_object(Bucket=bucket, Key="empty", Body=b"")
    assert refusal(s3.get_object, Bucket=bucket, Key="empty", Range="bytes=0-4095") == "InvalidRange"


@pytest.fixture
def v4(shared_s3):
    return shared_s3.client(signature_version="s3v4")


def test_a_download_by_presigned_url_has_the_name_that_was_signed(v4, bucket):
    v4.put_object(Bucket=bucket, Key="exports/e x.tar.gz", Body=b"archive", ContentType="application/gzip")
    name = 'attachment; filename="demo 2026.tar.gz"'
    where = {"Bucket": bucket, "Key": "exports/e x.tar.gz", "ResponseContentDisposition": name}
    url = v4.generate_presigned_url("get_object", where, 900)
    status, headers, body = fetch(url)
    assert (status, body, headers["Content-Disposition"]) == (200, b"archive", name)
    assert headers["Content-Type"] == "application/gzip"
    status, headers, body = fetch(url, Range="bytes=0-3")
    assert (status, body, headers["Content-Range"]) == (206, b"arch", "bytes 0-3/7")


def test_a_presigned_url_that_was_changed_or_has_expired_opens_nothing(v4, bucket):
    for key in ("mine", "other"):
        v4.put_object(Bucket=bucket, Key=key, Body=b"secret")
    where = {"Bucket": bucket, "Key": "mine", "ResponseContentDisposition": "attachment"}
    url = v4.generate_presigned_url("get_object", where, 900)
    assert fetch(url)[0] == 200
    changed = [
        (url.replace("/mine?", "/other?"), "GET"),
        (url.replace("=attachment", "=inline"), "GET"),
        (url.replace("response-content-disposition=attachment&", ""), "GET"),
        (url.replace("Expires=900", "Expires=90000"), "GET"),
        (f"{url}&response-content-type=text%2Fhtml", "GET"),
        (re.sub(r"Signature=[0-9a-f]", "Signature=g", url), "GET"),
        (re.sub(r"Signature=[0-9a-f]{4}", "Signature=0000", url), "GET"),
        (url, "PUT"),
        (url, "DELETE"),
        (v4.generate_presigned_url("get_object", where, -1), "GET"),
    ]
    for target, method in changed:
        assert fetch(target, method)[0] == 403
    assert v4.get_object(Bucket=bucket, Key="mine")["Body"].read() == b"secret"


def test_an_upload_by_presigned_url_is_of_one_key_one_type_and_one_size(v4, bucket):
    where = {"Bucket": bucket, "Key": "imports/i.tar.gz", "ContentType": "application/gzip", "ContentLength": 7}
    url = v4.generate_presigned_url("put_object", where, 900)
    right = {"Content-Type": "application/gzip"}
    for target, body, headers in (
        (url.replace("i.tar.gz", "j.tar.gz"), b"archive", right),
        (url, b"archive", {"Content-Type": "text/html"}),
        (url, b"archives", right),
        (url, b"archive", {**right, "x-amz-meta-more": "1"}),
        (v4.generate_presigned_url("put_object", where, -1), b"archive", right),
    ):
        assert fetch(target, "PUT", body, **headers)[0] == 403
    assert v4.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
    assert fetch(url, "PUT", b"archive", **right)[0] == 200
    got = v4.get_object(Bucket=bucket, Key="imports/i.tar.gz")
    assert (got["Body"].read(), got["ContentType"]) == (b"archive", "application/gzip")
    assert fetch(url)[0] == 403


def test_a_large_upload_by_presigned_url_arrives_whole_and_survives(v4, bucket, shared_s3):
    body = bytes(range(256)) * (6 * 4096)
    url = v4.generate_presigned_url("put_object", {"Bucket": bucket, "Key": "large.bin"}, 900)
    assert fetch(url, "PUT", body)[0] == 200
    assert v4.head_object(Bucket=bucket, Key="large.bin")["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    assert (shared_s3.data / "s3" / bucket / "large.bin").read_bytes() == body
    assert v4.get_object(Bucket=bucket, Key="large.bin")["Body"].read() == body


def test_the_folders_below_a_prefix_are_listed(s3, bucket):
    for key in ("_backups/demo/1/_manifest.json", "_backups/demo/1/a.md", "_backups/demo/2/a.md", "_backups/other/1/a"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="_backups/demo/", Delimiter="/")
    assert [p["Prefix"] for p in listed["CommonPrefixes"]] == ["_backups/demo/1/", "_backups/demo/2/"]
    assert "Contents" not in listed


def test_there_are_no_versions_and_nobody_is_told_that_there_were(s3, bucket):
    assert refusal(s3.get_bucket_versioning, Bucket=bucket) == "NotImplemented"
    assert refusal(s3.list_object_versions, Bucket=bucket) == "NotImplemented"
    assert refusal(s3.delete_object, Bucket=bucket, Key="k", VersionId="v") == "NotImplemented"
    assert refusal(s3.get_object, Bucket=bucket, Key="k", VersionId="v") == "NotImplemented"
