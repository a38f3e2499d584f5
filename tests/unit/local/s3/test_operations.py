import pytest

from local.front.httpd import Request
from local.s3.operations import Operation, S3Error, classify, parse_target
from tests.support.cases import each


def find(method: str, target: str, **headers: str) -> Operation:
    request = Request(method, target, tuple((k.replace("_", "-"), v) for k, v in headers.items()))
    return classify(request, parse_target(request))


@each(
    ("method", "target", "operation"),
    [
        ("GET", "/", Operation.LIST_BUCKETS),
        ("PUT", "/bkt", Operation.CREATE_BUCKET),
        ("PUT", "/bkt/", Operation.CREATE_BUCKET),
        ("GET", "/bkt?list-type=2&prefix=a", Operation.LIST_OBJECTS_V2),
        ("POST", "/bkt?delete", Operation.DELETE_OBJECTS),
        ("PUT", "/bkt/k?x-id=PutObject", Operation.PUT_OBJECT),
        ("GET", "/bkt/k?X-Amz-Signature=0&X-Amz-Expires=9&response-content-type=a", Operation.GET_OBJECT),
        ("PUT", "/bkt/k?AWSAccessKeyId=a&Signature=b&Expires=1", Operation.PUT_OBJECT),
        ("DELETE", "/bkt/k", Operation.DELETE_OBJECT),
    ],
)
def test_a_request_is_the_operation_that_the_protocol_says(method, target, operation):
    assert find(method, target) is operation


def test_a_copy_is_not_a_put():
    assert find("PUT", "/bkt/k", x_amz_copy_source="/bkt/a") is Operation.COPY_OBJECT


@each(
    ("method", "target", "headers"),
    [
        ("PUT", "/bkt?versioning", {}),
        ("GET", "/bkt?versions", {}),
        ("GET", "/bkt?prefix=a", {}),
        ("GET", "/bkt?location", {}),
        ("GET", "/bkt?versioning", {}),
        ("DELETE", "/bkt", {}),
        ("GET", "/bkt/k?uploadId=a", {}),
        ("POST", "/bkt/k?uploads", {}),
        ("PUT", "/bkt/k?uploadId=a&partNumber=1", {}),
        ("GET", "/bkt/k?attributes", {}),
        ("PUT", "/bkt/k?uploadId=a&partNumber=1", {"x_amz_copy_source": "/b/a"}),
        ("PUT", "/bkt/k", {"Cache_Control": "no-store"}),
        ("POST", "/bkt/k?uploadId=a", {"If_None_Match": "*"}),
        ("PUT", "/bkt/k?tagging", {}),
        ("PUT", "/bkt/k?acl", {}),
        ("GET", "/bkt/k?versionId=1", {}),
        ("DELETE", "/bkt/k?versionId=1", {}),
        ("POST", "/bkt", {}),
        ("POST", "/bkt/k?select&select-type=2", {}),
        ("BREW", "/bkt/k", {}),
        ("DELETE", "/", {}),
        ("PUT", "/bkt/k", {"x_amz_tagging": "a=b"}),
        ("PUT", "/bkt/k", {"x_amz_storage_class": "GLACIER"}),
        ("PUT", "/bkt/k", {"x_amz_server_side_encryption": "aws:kms"}),
        ("PUT", "/bkt/k", {"If_None_Match": '"etag"'}),
        ("PUT", "/bkt/k", {"If_Match": '"e"', "x_amz_copy_source": "/bkt/a"}),
        ("PUT", "/bkt/k", {"If_None_Match": "*", "x_amz_copy_source": "/bkt/a"}),
        ("PUT", "/bkt/k", {"x_amz_copy_source_if_match": '"e"'}),
        ("POST", "/bkt/k?uploadId=a", {"If_Match": '"e"'}),
    ],
)
def test_what_would_not_be_kept_or_not_be_protected_is_refused(method, target, headers):
    with pytest.raises(S3Error) as error:
        find(method, target, **headers)
    assert (error.value.status, error.value.code) == (501, "NotImplemented")


def test_a_target_is_decoded_once():
    target = parse_target(Request("GET", "/bkt//a%2Fb%252F/../%C3%A9?prefix=a%20b+c", ()))
    assert (target.bucket, target.key, target.query) == ("bkt", "/a/b%2F/../é", {"prefix": "a b c"})


@pytest.mark.parametrize("path", ["/bkt/%FF", "/bkt/" + "%C3%A9" * 513])
def test_a_key_that_s3_does_not_allow_is_a_400(path):
    with pytest.raises(S3Error) as error:
        parse_target(Request("GET", path, ()))
    assert error.value.status == 400
