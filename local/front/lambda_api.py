"""Lambda's Invoke API, which boto3's `invoke` and the webhook of a MinIO server call."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from local.front.guard import DOCKER_HOST, Networks, is_forwarded, is_from_web_page, is_in_networks
from local.front.httpd import Request, Response, answer_json
from local.functions.async_queue import AsyncQueue
from local.functions.pools import FunctionPool, PoolClosedError
from local.functions.template import Template

_PATH = re.compile(r"^/2015-03-31/functions/(?P<name>[^/]+)/invocations/?$")


@dataclass(frozen=True)
class LambdaApi:
    """Answers `POST /2015-03-31/functions/{name}/invocations`; a name is a logical id, a FunctionName or an ARN.

    A caller of the Invoke API may skip every check of the API, so only this machine and `allowed` networks may.
    `bound_to` is the address or name that the server was told to listen on.
    """

    template: Template
    pools: Mapping[str, FunctionPool]
    queue: AsyncQueue
    allowed: Networks = ()
    bound_to: str = "127.0.0.1"

    @staticmethod
    def owns(request: Request) -> bool:
        """Tell whether the request is for this API."""
        return request.path.startswith("/2015-03-31/functions/")

    def answer(self, request: Request) -> Response:
        """Answer one request."""
        found = _PATH.match(request.path)
        outside = is_from_web_page(request, {self.bound_to.lower(), DOCKER_HOST}) or is_forwarded(request)
        if outside or not is_in_networks(request.client, self.allowed):
            return _refuse(403, "AccessDeniedException", "only this machine and LIVEMEM_INVOKE_FROM may invoke")
        if found is None or request.method != "POST":
            return _refuse(404, "UnknownOperationException", "only Invoke is served here")
        name = unquote(found["name"])
        function = self.template.find(name)
        if function is None:
            return _refuse(404, "ResourceNotFoundException", f"Function not found: {name}")
        body = request.body or b"{}"
        try:
            json.loads(body)
        except ValueError:
            return _refuse(400, "InvalidRequestContentException", "Could not parse request body into json")
        kind = request.header("X-Amz-Invocation-Type") or "RequestResponse"
        if kind not in {"Event", "RequestResponse"}:
            return _refuse(400, "InvalidParameterValueException", f"unknown invocation type {kind}")
        if kind == "Event":
            return Response(202, (("x-amzn-RequestId", self.queue.accept(function.logical_id, body)),))
        try:
            outcome = self.pools[function.logical_id].submit(body).result()
        except PoolClosedError:
            return _refuse(503, "ServiceException", "the runtime is stopping")
        failed = (("X-Amz-Function-Error", "Unhandled"),) if outcome.failed else ()
        return Response(200, (("Content-Type", "application/json"), *failed), outcome.payload)


def _refuse(status: int, kind: str, message: str) -> Response:
    return answer_json(status, {"Type": "User", "Message": message, "message": message}, (("x-amzn-ErrorType", kind),))
