import base64
import io
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError, ClientError

from local.files import read_secret
from local.s3 import ACCESS_KEY, KEY_FILE
from tests.integration.local.support import MANY, MANY_BUCKET, S3Process

ODD_KEYS = [
    "plain.md",
    "a",
    "a/",
    "a/b",
    "a//b",
    "/leading",
    "../../escape",
    "./dot",
    "space in name & <tags> é%2F+?#.md",
    "\u65e5\u672c.md",
    "x" * 600,
    "y/" * 200 + "z",
]


def code(error) -> str:
    return error.value.response["Error"]["Code"]


def fetch(url: str, method: str = "GET", body: bytes | None = None, headers: dict | None = None):
    request = urllib.request.Request(url, body, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def sign(server: S3Process, method: str, target: str, body: bytes = b"") -> dict[str, str]:
    """Headers of a request that boto3 has no call for."""
    request = AWSRequest(method, f"{server.url}{target}", data=body)
    S3SigV4Auth(Credentials(ACCESS_KEY, server.secret_key), "s3", "us-east-1").add_auth(request)
    return dict(request.headers)


def test_an_object_comes_back_with_all_that_was_put(s3, bucket):
    put = s3.put_object(
        Bucket=bucket, Key="a.md", Body=b"hello", ContentType="text/markdown", Metadata={"Who_is": "me"}
    )
    got = s3.get_object(Bucket=bucket, Key="a.md")
    assert got["Body"].read() == b"hello"
    assert got["ETag"] == put["ETag"] == '"5d41402abc4b2a76b9719d911017c592"'
    assert (got["ContentType"], got["Metadata"]) == ("text/markdown", {"who_is": "me"})
    head = s3.head_object(Bucket=bucket, Key="a.md")
    assert (head["ContentLength"], head["ETag"]) == (5, put["ETag"])
    assert s3.get_object(Bucket=bucket, Key="a.md", Range="bytes=1-3")["Body"].read() == b"ell"


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_that_looks_like_a_form_is_stored_as_it_is(s3, bucket, kind):
    s3.put_object(Bucket=bucket, Key="form", Body=b"a=1&b=2", ContentType=kind)
    got = s3.get_object(Bucket=bucket, Key="form")
    assert (got["Body"].read(), got["ContentType"]) == (b"a=1&b=2", kind)


def test_odd_keys_are_keys_like_any_other(s3, bucket):
    for key in ODD_KEYS:
        s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
    for key in ODD_KEYS:
        assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
    listed = [item["Key"] for item in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert listed == sorted(ODD_KEYS)
    deleted = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in ODD_KEYS]})
    assert len(deleted["Deleted"]) == len(ODD_KEYS)
    assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_listing_of_more_than_a_thousand_keys_has_pages(s3):
    keys = [f"space/live/{n:04d}.md" for n in range(MANY)]
    pages = list(s3.get_paginator("list_objects_v2").paginate(Bucket=MANY_BUCKET, Prefix="space/"))
    assert [len(page["Contents"]) for page in pages] == [1000, 205]
    assert [item["Key"] for page in pages for item in page["Contents"]] == keys
    folders = s3.list_objects_v2(Bucket=MANY_BUCKET, Delimiter="/")
    assert [p["Prefix"] for p in folders["CommonPrefixes"]] == ["space/"]


def test_of_sixteen_creations_of_one_key_exactly_one_wins(s3, bucket):
    def create(attempt: tuple[int, int]) -> str:
        race, number = attempt
        try:
            s3.put_object(Bucket=bucket, Key=f"race-{race}", Body=str(number).encode(), IfNoneMatch="*")
        except ClientError as error:
            return error.response["Error"]["Code"]
        return "won"

    with ThreadPoolExecutor(16) as executor:
        for race in range(8):
            answers = Counter(executor.map(create, [(race, n) for n in range(16)]))
            assert answers == {"won": 1, "PreconditionFailed": 15}


def test_no_compare_and_swap_is_lost(s3, bucket):
    s3.put_object(Bucket=bucket, Key="counter", Body=b"0")

    def increment(_: int) -> None:
        while True:
            got = s3.get_object(Bucket=bucket, Key="counter")
            value = int(got["Body"].read()) + 1
            try:
                s3.put_object(Bucket=bucket, Key="counter", Body=str(value).encode(), IfMatch=got["ETag"])
            except ClientError as error:
                if error.response["Error"]["Code"] != "PreconditionFailed":
                    raise
            else:
                return

    with ThreadPoolExecutor(8) as executor:
        list(executor.map(increment, range(24)))
    assert s3.get_object(Bucket=bucket, Key="counter")["Body"].read() == b"24"


def test_reading_while_the_object_is_replaced_gives_one_version_or_the_other(s3, bucket):
    bodies = {bytes([65 + n]) * 5000 for n in range(4)}
    s3.put_object(Bucket=bucket, Key="k", Body=min(bodies))

    def work(number: int) -> bool:
        if number % 4 == 0:
            s3.put_object(Bucket=bucket, Key="k", Body=sorted(bodies)[number // 4 % 4])
            return True
        return s3.get_object(Bucket=bucket, Key="k")["Body"].read() in bodies

    with ThreadPoolExecutor(16) as executor:
        assert all(executor.map(work, range(160)))


def test_conditions_that_do_not_hold_are_a_412_and_change_nothing(s3, bucket):
    etag = s3.put_object(Bucket=bucket, Key="k", Body=b"1")["ETag"]
    for call in (
        lambda: s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfNoneMatch="*"),
        lambda: s3.put_object(Bucket=bucket, Key="k", Body=b"2", IfMatch='"0"'),
        lambda: s3.delete_object(Bucket=bucket, Key="k", IfMatch='"0"'),
        lambda: s3.get_object(Bucket=bucket, Key="k", IfMatch='"0"'),
    ):
        with pytest.raises(ClientError) as error:
            call()
        assert code(error) == "PreconditionFailed"
    assert s3.get_object(Bucket=bucket, Key="k")["ETag"] == etag
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="none", Body=b"2", IfMatch=etag)
    assert code(error) == "NoSuchKey"
    s3.delete_object(Bucket=bucket, Key="k", IfMatch=etag)
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=bucket, Key="k")
    assert code(error) == "NoSuchKey"


def test_copies_work(s3, bucket):
    s3.put_object(Bucket=bucket, Key="a b", Body=b"1", ContentType="x/y", Metadata={"k": "v"})
    s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "a b"})
    copy = s3.get_object(Bucket=bucket, Key="copy")
    assert (copy["Body"].read(), copy["ContentType"], copy["Metadata"]) == (b"1", "x/y", {"k": "v"})


def test_presigned_urls_work_until_they_expire(shared_s3, bucket):
    client = shared_s3.client(signature_version="s3v4")
    where = {"Bucket": bucket, "Key": "up load.txt"}
    assert fetch(client.generate_presigned_url("put_object", where, 60), "PUT", b"body")[0] == 200
    assert fetch(client.generate_presigned_url("get_object", where, 60)) == (200, b"body")
    status, body = fetch(client.generate_presigned_url("get_object", where, -5))
    assert (status, b"expired" in body) == (403, True)


def test_an_upload_in_signed_chunks_is_refused_and_not_taken_unchecked(shared_s3, bucket):
    target = f"/{bucket}/chunked.md"
    chunks = b"5;chunk-signature=0\r\nhello\r\n0;chunk-signature=0\r\n\r\n"
    headers = sign(shared_s3, "PUT", target, chunks) | {"x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}
    status, answer = fetch(shared_s3.url + target, "PUT", chunks, headers)
    assert (status, b"signed chunks" in answer) == (501, True)


def test_who_does_not_know_the_key_can_neither_read_nor_write(shared_s3, s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    for stranger, expected in (
        (shared_s3.client(secret_key="guessed"), "SignatureDoesNotMatch"),
        (shared_s3.client(access_key="local"), "InvalidAccessKeyId"),
    ):
        for call in (
            lambda c=stranger: c.put_object(Bucket=bucket, Key="_system/tokens.json", Body=b"{}"),
            lambda c=stranger: c.get_object(Bucket=bucket, Key="k"),
            lambda c=stranger: c.list_objects_v2(Bucket=bucket),
            lambda c=stranger: c.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k"}]}),
        ):
            with pytest.raises(ClientError) as error:
                call()
            assert (code(error), error.value.response["ResponseMetadata"]["HTTPStatusCode"]) == (expected, 403)
    assert [item["Key"] for item in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["k"]


def test_the_key_of_a_data_folder_is_private_and_stays(shared_s3):
    file = shared_s3.data / KEY_FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(shared_s3.secret_key) >= 40
    assert read_secret(file) == shared_s3.secret_key


def test_the_server_does_all_that_boto3_asks(shared_s3, bucket):
    client = shared_s3.client(signature_version="s3v4")
    client.put_object(Bucket=bucket, Key="a b+é/~.md", Body=b"1", ContentType="x/y", Metadata={"a": "1  2"})
    assert client.get_object(Bucket=bucket, Key="a b+é/~.md", ResponseContentType="t/u")["ContentType"] == "t/u"
    client.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "a b+é/~.md"})
    assert len(client.list_objects_v2(Bucket=bucket, Prefix="a b+", MaxKeys=5)["Contents"]) == 1
    client.upload_fileobj(io.BytesIO(b"y" * 100_000), bucket, "file")
    keys = [item["Key"] for item in client.list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys == ["a b+é/~.md", "copy", "file"]
    client.delete_object(Bucket=bucket, Key="copy")
    client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in keys]})
    assert client.list_objects_v2(Bucket=bucket)["KeyCount"] == 0


def test_a_request_without_a_signature_is_refused(shared_s3, s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    assert fetch(f"{shared_s3.url}/{bucket}/k")[0] == 403
    assert fetch(f"{shared_s3.url}/{bucket}?list-type=2")[0] == 403


def test_a_web_page_is_refused_even_with_a_signature(shared_s3, s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"1")
    url = s3.generate_presigned_url("get_object", {"Bucket": bucket, "Key": "k"})
    assert fetch(url, headers={"Origin": "https://evil.example"})[0] == 403
    assert fetch(url, headers={"Host": "evil.example"})[0] == 403


def test_what_is_not_kept_is_not_accepted(s3, bucket):
    with pytest.raises(ClientError) as error:
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    assert code(error) == "NotImplemented"
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="k", Body=b"", Tagging="a=b")
    assert code(error) == "NotImplemented"


def test_errors_have_the_codes_that_clients_look_for(s3, bucket):
    for call, expected in (
        (lambda: s3.get_object(Bucket="no-such-bucket", Key="k"), "NoSuchBucket"),
        (lambda: s3.list_objects_v2(Bucket="no-such-bucket"), "NoSuchBucket"),
        (lambda: s3.delete_objects(Bucket="no-such-bucket", Delete={"Objects": [{"Key": "k"}]}), "NoSuchBucket"),
        (lambda: s3.put_object(Bucket="no-such-bucket", Key="k", Body=b""), "NoSuchBucket"),
        (lambda: s3.head_bucket(Bucket="no-such-bucket"), "404"),
        (lambda: s3.head_object(Bucket=bucket, Key="none"), "404"),
        (lambda: s3.copy_object(Bucket=bucket, Key="b", CopySource=f"{bucket}/none"), "NoSuchKey"),
    ):
        with pytest.raises(ClientError) as error:
            call()
        assert code(error) == expected


@pytest.mark.parametrize(
    "body", [b"", b"<Delete>", b"<Delete/>", b"<Delete><Object><Key></Key></Object></Delete>", b"{}"]
)
def test_a_broken_deletion_is_a_400(shared_s3, bucket, body):
    headers = sign(shared_s3, "POST", f"/{bucket}?delete", body)
    status, answer = fetch(f"{shared_s3.url}/{bucket}?delete", "POST", body, headers)
    assert (status, b"MalformedXML" in answer) == (400, True)


def test_a_body_that_is_not_the_one_of_its_checksum_is_refused(s3, bucket):
    right = base64.b64encode((0x3610A686).to_bytes(4, "big")).decode()
    s3.put_object(Bucket=bucket, Key="k", Body=b"hello", ChecksumCRC32=right)
    for wrong in ({"ChecksumCRC32": right}, {"ChecksumSHA256": right}, {"ContentMD5": right}):
        with pytest.raises(ClientError) as error:
            s3.put_object(Bucket=bucket, Key="k", Body=b"other", **wrong)
        assert code(error) == "BadDigest"
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"hello"


def put_all_kinds(client) -> None:
    client.put_object(Bucket="bkt", Key="space/live/n.md", Body=b"note", ContentType="text/markdown; charset=utf-8")
    client.put_object(Bucket="bkt", Key="odd.md", Body=b"odd", ContentType="x/y", Metadata={"k": "v"})
    client.put_object(Bucket="bkt", Key="gone.md", Body=b"")
    client.put_object(Bucket="bkt", Key="gone-too.md", Body=b"")
    client.copy_object(Bucket="bkt", Key="copy.md", CopySource="bkt/odd.md")
    client.delete_objects(Bucket="bkt", Delete={"Objects": [{"Key": "gone.md"}, {"Key": "never.md"}], "Quiet": True})
    client.delete_object(Bucket="bkt", Key="gone-too.md")


def snapshot(client) -> tuple:
    found = {}
    for item in client.list_objects_v2(Bucket="bkt")["Contents"]:
        got = client.get_object(Bucket="bkt", Key=item["Key"])
        got["Body"] = got["Body"].read()
        got.pop("ResponseMetadata")
        found[item["Key"]] = (item, got)
    return found, [b["Name"] for b in client.list_buckets()["Buckets"]]


def write_until_killed(server: S3Process) -> dict[str, bytes]:
    """Overwrite keys from four threads and kill the server meanwhile; returns what it acknowledged."""
    client, acknowledged = server.client(), {}

    def write(worker: int) -> None:
        try:
            for number in range(10_000):
                key, body = f"w{worker}/{number % 7}.md", f"{worker}-{number}".encode()
                client.put_object(Bucket="crash", Key=key, Body=body)
                acknowledged[key] = body
                if len(acknowledged) == 28 and number > 9:
                    server.process.kill()
        except BotoCoreError:
            return

    with ThreadPoolExecutor(4) as executor:
        list(executor.map(write, range(4)))
    return acknowledged


def test_whatever_was_acknowledged_survives_a_kill(start_s3, tmp_path):
    server = start_s3(tmp_path, "--bucket", "bkt")
    client = server.client()
    client.create_bucket(Bucket="crash")
    client.create_bucket(Bucket="empty-bucket")
    put_all_kinds(client)
    assert (tmp_path / "s3/bkt/space/live/n.md").read_bytes() == b"note"
    before = snapshot(client)
    assert set(before[0]) == {"space/live/n.md", "odd.md", "copy.md"}
    acknowledged = write_until_killed(server)

    client = start_s3(tmp_path, "--bucket", "bkt").client()
    assert snapshot(client) == before
    for key, body in acknowledged.items():
        # The last write of each worker may have been stored without an answer.
        found = client.get_object(Bucket="crash", Key=key)["Body"].read()
        assert int(found.split(b"-")[1]) >= int(body.split(b"-")[1])
