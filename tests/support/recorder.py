"""Notes every request that a function makes of AWS, as the permissions that AWS would ask for.

Those to S3 go to a bucket in memory through the recorder; of all others botocore tells it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import boto3
import pytest
from botocore import handlers, xform_name
from botocore.exceptions import ClientError

from tests.support.bucket import FakeS3
from tests.support.counting import Killed
from tests.support.counting import Request as S3Request
from tests.support.policy import ACCOUNT, Request, Role, object_arn
from tests.support.template import REGION

Params = Mapping[str, Any]


def _get_object(params: Params) -> Iterator[Request]:
    action = "s3:GetObjectVersion" if "VersionId" in params else "s3:GetObject"
    yield Request(action, object_arn(params["Key"]))


def _copy_object(params: Params) -> Iterator[Request]:
    yield Request("s3:GetObject", object_arn(params["CopySource"]["Key"]))
    yield Request("s3:PutObject", object_arn(params["Key"]))


def _list_versions(params: Params) -> Iterator[Request]:
    yield Request("s3:ListBucketVersions", object_arn(""), (("s3:prefix", params.get("Prefix", "")),))


def _put_object(params: Params) -> Iterator[Request]:
    yield Request("s3:PutObject", object_arn(params["Key"]))
    if "IfMatch" in params:
        yield from _get_object(params)


def _delete_object(params: Params) -> Iterator[Request]:
    action = "s3:DeleteObjectVersion" if "VersionId" in params else "s3:DeleteObject"
    yield Request(action, object_arn(params["Key"]))
    if "IfMatch" in params:
        yield from _get_object(params)


def _delete_objects(params: Params) -> Iterator[Request]:
    for doomed in params["Delete"]["Objects"]:
        yield from _delete_object(doomed)


def _list_objects(params: Params) -> Iterator[Request]:
    yield Request("s3:ListBucket", object_arn(""), (("s3:prefix", params.get("Prefix", "")),))


def _invoke(params: Params) -> Iterator[Request]:
    yield Request("lambda:InvokeFunction", f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{params['FunctionName']}")


def _get_parameter(params: Params) -> Iterator[Request]:
    arn = f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{params['Name']}"
    yield Request("ssm:GetParameter", arn)
    if params.get("WithDecryption"):
        # SSM asks KMS in the caller's name. A parameter under a key of its own needs it of the role.
        context = (("kms:ViaService", f"ssm.{REGION}.amazonaws.com"), ("kms:EncryptionContext:PARAMETER_ARN", arn))
        yield Request("kms:Decrypt", f"arn:aws:kms:{REGION}:{ACCOUNT}:key/0a1b2c3d", context)


PERMISSIONS: dict[tuple[str, str], Callable[[Params], Iterator[Request]]] = {
    ("s3", "get_object"): _get_object,
    ("s3", "head_object"): _get_object,
    ("s3", "put_object"): _put_object,
    ("s3", "copy_object"): _copy_object,
    ("s3", "list_object_versions"): _list_versions,
    ("s3", "delete_object"): _delete_object,
    ("s3", "delete_objects"): _delete_objects,
    ("s3", "list_objects_v2"): _list_objects,
    ("lambda", "invoke"): _invoke,
    ("ssm", "get_parameter"): _get_parameter,
}
"""What each request, a method of a client, needs (AWS's Service Authorization Reference). With If-Match a write or
deletion needs GetObject as well (S3 User Guide, "Enforce conditional writes" and "... conditional deletes"), with
If-None-Match it does not.
"""


class Ear:
    """What clients tell of what they ask. They take long to make, and are kept: so one ear hears for all recorders."""

    def __init__(self) -> None:
        self.listener: Recorder | None = None

    def hear(self, **told: Any) -> None:
        if self.listener:
            self.listener._hear(**told)


EAR = Ear()


@cache
def _default_session() -> boto3.Session:
    """Made once a process: a new one would be put together, and its clients, for each test."""
    return boto3.Session()


class Recorder:
    """`asked` is what each role was asked for, `refused` what it would not have allowed. Nothing is stopped by it."""

    def __init__(self, roles: Mapping[str, Role]) -> None:
        self.asked: dict[str, set[Request]] = defaultdict(set)
        self.refused: list[str] = []
        self.deadly: Callable[[Request], bool] = lambda request: False
        """The request before which the process dies."""
        self._roles = roles
        self._acting: str | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear all clients that were ever made within such a context: those of the default session, and of others."""
        own = ("provide-client-params", EAR.hear)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(handlers, "BUILTIN_HANDLERS", [*handlers.BUILTIN_HANDLERS, own])
            patch.setattr(boto3, "DEFAULT_SESSION", _default_session())
            patch.setattr(EAR, "listener", self)
            yield

    @contextmanager
    def acting_as(self, role: str) -> Iterator[None]:
        """What is asked for within is asked for by this role; a request that it refuses is an AssertionError."""
        self._acting = role
        try:
            yield
        finally:
            self._acting = None
            refused, self.refused = self.refused, []
            assert not refused, f"the role of {role} in template.yaml does not allow {', '.join(sorted(set(refused)))}"

    @contextmanager
    def beside(self) -> Iterator[None]:
        """What is asked for within is asked for by somebody else, while the role is at work."""
        role, self._acting = self._acting, None
        try:
            yield
        finally:
            self._acting = role

    def keys(self) -> set[str]:
        """The keys of the bucket that any role was asked for, and the prefixes of what was listed below one."""
        asked = [request for requests in self.asked.values() for request in requests]
        named = {
            request.resource.removeprefix(object_arn("x")[:-1])
            for request in asked
            if object_arn("x")[:-1] in request.resource
        }
        listed = {prefix for request in asked for name, prefix in request.context if name == "s3:prefix"}
        return {name for name in named | listed if name}

    def carry(self, asked: S3Request, bucket: FakeS3) -> Any:
        """Bring a request to the bucket, and its answer back."""
        role = self._acting
        self._check("s3", asked.name, asked.arguments)
        try:
            return asked.send(bucket)
        except ClientError as error:
            if role and error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                # To roles that may not list the bucket S3 says 403 instead. It asks without a prefix.
                self._note(Request("s3:ListBucket", object_arn("")))
            raise

    def _hear(self, params: Params, model: Any, **_: Any) -> None:
        self._check(model.service_model.service_name, xform_name(model.name), params)

    def _check(self, service: str, method: str, params: Params) -> None:
        if not self._acting:
            return
        asked = (service, method)
        if asked not in PERMISSIONS:
            self.refused.append(f"{asked}, of which tests/support/recorder.py does not know what it needs")
            return
        for request in PERMISSIONS[asked](params):
            if self.deadly(request):
                raise Killed
            self._note(request)

    def _note(self, request: Request) -> None:
        assert self._acting
        self.asked[self._acting].add(request)
        if not self._roles[self._acting].allows(request):
            self.refused.append(str(request))
