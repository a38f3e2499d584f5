"""Puts the local runtime together, in the order in which its parts need each other, and takes it apart again."""

import json
import logging
import os
import shutil
import socket
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from livemem.store.clients import Host
from local import admin_key, command_line, metrics, models
from local.config import Config
from local.data_dir import DataDir
from local.external_s3 import check_bucket
from local.front.guard import (
    DOCKER_HOST,
    is_forwarded,
    is_from_web_page,
    is_in_networks,
    names_this_server,
)
from local.front.http_api import INTEGRATION_SECONDS, MAX_BODY_BYTES, HttpApi
from local.front.httpd import Request, Response, Server, answer_json
from local.front.lambda_api import LambdaApi
from local.functions.async_queue import AsyncQueue, gather
from local.functions.invocations import Output, RootHandler, check_time, context
from local.functions.logs import FunctionLog
from local.functions.pools import Deadlines, FunctionPool, PoolClosedError
from local.functions.put_events import PutEvents
from local.functions.schedules import Scheduler
from local.functions.template import Function, Template, read_template
from local.functions.variables import build_environment
from local.store import addresses
from local.store.addresses import AddressedStore
from local.store.client import FileStore

# How long running HTTP requests may take to end when the runtime stops.
STOP_SECONDS = 5.0
HEALTH_PATH = "/healthz"
"""200 while the service takes requests. It asks no store, and needs no token: for health checks of containers."""
_UNAVAILABLE = answer_json(503, {"message": "Service Unavailable"})


class Runtime:
    """Everything that runs between `start` and `stop`."""

    def __init__(self, config: Config, listening: socket.socket | None = None, *, schedules: bool = True) -> None:
        """Lock the data folder, read the template and bind the port; nothing runs yet.

        A worker among several (workers.py) has a socket that `listening` already. Only one of them has `schedules`.

        Raises DataDirError, TemplateError, OSError (the port), each before anything was started.
        """
        self.config = config
        self._schedules = schedules
        self.template: Template = read_template(config.template, config.parameters)
        self.data = DataDir(config.data)
        self._deadlines = Deadlines()
        self._put_events = PutEvents(self.template.functions, self._enqueue, self._deadlines.after)
        public = urlsplit(config.outer.get("OAUTH_ISSUER", "")).hostname
        self._names = {config.host.lower(), DOCKER_HOST, *([public] if public else [])}
        self._parts = ExitStack()
        """What runs, in the order of its start: it ends in the other one."""
        self._parts.callback(self.data.close)
        self._store: AddressedStore | None = None
        self._pools: dict[str, FunctionPool] = {}
        self._queue: AsyncQueue | None = None
        self._http_api: HttpApi | None = None
        self._lambda_api: LambdaApi | None = None
        self._ready = False
        self._metrics = metrics.Metrics()
        try:
            self._server = Server(
                config.host, config.port, self._answer, max_body=self._most_bytes, listening=listening
            )
        except OSError:
            self._parts.close()
            raise
        self._parts.callback(self._server.stop)

    def start(self) -> dict[str, Any]:
        """Start everything and wait until it answers; returns the endpoints, also written to the data folder.

        Raises OSError if a part did not start. Call `stop` then too.
        """
        if not self.config.embedded:
            check_bucket(self.config)
        s3_url = self._open_store() if self.config.embedded else self.config.s3_url
        needed = self.config.llm_url is None or self.config.embeddings_url is None
        offline_url = self._start_offline_llm() if needed else ""
        llm = self._start_own_model()
        key_sha256 = self.config.admin_key_sha256 or admin_key.sha256(self.data.admin_key())
        self._start_functions(self._provide(s3_url, offline_url, key_sha256) | llm)
        endpoints = {
            "api": self._server.url,
            "s3": str(self.data.root / "s3")
            if self.config.embedded
            else s3_url or f"https://s3.{self.config.region}.amazonaws.com",
            **models.tell(self.config, offline_url),
            "bucket": self.config.bucket,
            "admin_key_file": None if self.config.admin_key_sha256 else str(self.data.admin_key_file),
        }
        command_line.keep_choices(self.config.data, self.config.outer)
        self.data.write_endpoints(endpoints)
        self._ready = True
        return endpoints

    def look(self) -> None:
        """Nothing of it ends by itself."""

    def stop(self) -> None:
        """Stop everything, in order: no new work, running requests may end, queued work stays on disk."""
        self._ready = False
        self._parts.close()

    def _open_store(self) -> str:
        """The embedded store; gives what stands for its address, which no client asks."""
        files = FileStore(self.config.data, on_put=self._put_events.add)
        files.create_bucket(Bucket=self.config.bucket)
        self._store = AddressedStore(files, self.config.outer.get("OAUTH_ISSUER") or self._server.url)
        return self._server.url

    def _most_bytes(self, target: str) -> int:
        if self._store and target.startswith(addresses.PREFIX):
            return self._store.most_bytes(target)
        return MAX_BODY_BYTES

    def _start_offline_llm(self) -> str:
        # Who has a model of one's own needs none of it.
        from local.offline_llm import server as offline_llm  # noqa: PLC0415

        server = offline_llm.bind()
        server.start()
        self._parts.callback(server.stop, STOP_SECONDS)
        return offline_llm.base_url(server)

    def _start_own_model(self) -> dict[str, str]:
        """Start the program's server, if there is one; returns the variables that name it."""
        if not self.config.own_model:
            if self.data.own_model.exists():
                from local.own_model.single_process import ProcessFailed, SingleProcess  # noqa: PLC0415

                # A crash has left it behind, and the model is another one now.
                with suppress(ProcessFailed):
                    SingleProcess(self.data.own_model).end_former()
            return {}
        from local.own_model import completions  # noqa: PLC0415 - few have one

        outer = self.config.outer
        serving = completions.serving(self.config.own_model, outer, self.data.own_model)
        url, key = self._parts.enter_context(serving)
        model = self.config.own_model.model(outer.get("LLMAAS_MODEL", ""))
        return {"LLMAAS_API_URL": url, "LLMAAS_API_KEY": key, "LLMAAS_MODEL": model}

    def _start_functions(self, provided: dict[str, str]) -> None:
        functions = self.template.functions
        # The memory of one person. No function declares it, since no stack is that.
        outer = {"SESSION_FOLDS": str(self._is_own()).lower(), **self.config.outer}
        self._take_over(build_environment(functions, outer, provided, own_credentials=not self.config.embedded))
        self._parts.callback(self._put_events.flush)
        hosted = context(Host(self._invoke, self._enqueue, check_time, self._store))
        for function in functions:
            log = FunctionLog(None if self.config.logs_to_stdout else self.data.logs, function.logical_id)
            self._pools[function.logical_id] = FunctionPool(
                function, log, self.config.invocations, deadlines=self._deadlines, metrics=self._metrics, context=hosted
            )
            self._parts.callback(self._pools[function.logical_id].close)
        gather(self.data.root, self.data.root)
        self._queue = AsyncQueue(
            self._pools, self.data.queue, self.data.dead_letters, self._deadlines.after, self.config.retry_seconds
        )
        self._lambda_api = LambdaApi(self.template, self._pools, self._queue, self.config.invoke_from, self.config.host)
        self._http_api = HttpApi(functions, self._pools, metrics=self._metrics)
        with suppress(Exception):
            # Made by one thread, for all. Who needs it says why it cannot be made.
            from livemem_http.environment import process  # noqa: PLC0415 - its variables are known by now

            hosted.copy().run(process)
        # Before anything new is accepted, which would be loaded as something that was left.
        self._queue.start()
        self._server.start()
        self._parts.callback(self._server.stop, STOP_SECONDS)
        self._parts.callback(self._queue.close)
        scheduler = Scheduler(functions if self._schedules else (), self._queue, self.config.sweep_seconds)
        scheduler.start()
        self._parts.callback(scheduler.stop)
        threading.Thread(target=self._load_handlers, name="load-handlers", daemon=True).start()

    def _load_handlers(self) -> None:
        """Import what requests will need, so that the first of them do not wait for it."""
        for pool in self._pools.values():
            # A request that needs it says why it cannot be imported.
            with suppress(Exception):
                pool.load()

    def _take_over(self, variables: dict[str, str]) -> None:
        """Give the process the functions' variables, and their logs what they write."""
        before, root, streams = dict(os.environ), logging.getLogger(), (sys.stdout, sys.stderr)
        handlers, folder = root.handlers[:], tempfile.tempdir

        def restore() -> None:
            sys.stdout, sys.stderr = streams
            tempfile.tempdir = folder
            shutil.rmtree(self.data.scratch, ignore_errors=True)
            root.handlers[:] = handlers
            os.environ.clear()
            os.environ.update(before)

        self._parts.callback(restore)
        # Copies of what is searched hold notes. A killed runtime has left its own.
        shutil.rmtree(self.data.scratch, ignore_errors=True)
        self.data.scratch.mkdir(mode=0o700, exist_ok=True)  # Windows removes no file that is open
        tempfile.tempdir = str(self.data.scratch)
        os.environ.clear()
        os.environ.update(variables)
        sys.stdout, sys.stderr = Output(sys.stdout, "INFO"), Output(sys.stderr, "ERROR")
        root.handlers[:] = [RootHandler(handlers)]

    def _invoke(self, name: str, event: bytes) -> tuple[Any, bool]:
        answer = self._pools[self._function(name).logical_id].submit(event)
        try:
            outcome = answer.result(INTEGRATION_SECONDS)
        except (TimeoutError, PoolClosedError) as error:
            # The caller is told that nothing was answered, so what has not begun must not begin later.
            answer.cancel()
            raise OSError(f"{name} did not answer") from error
        return json.loads(outcome.payload), outcome.failed

    def _enqueue(self, name: str, event: bytes) -> None:
        assert self._queue
        self._queue.accept(self._function(name).logical_id, event)

    def _function(self, name: str) -> Function:
        function = self.template.find(name)
        if function is None:
            raise OSError(f"Function not found: {name}")
        return function

    def _provide(self, s3_url: str | None, offline_url: str, key_sha256: str) -> dict[str, str]:
        """The variables that the runtime decides. They override the template."""
        provided = {
            "S3_BUCKET_NAME": self.config.bucket,
            "S3_ENDPOINT_URL": s3_url or "",
            admin_key.VARIABLE: key_sha256,
            # That of a service for this machine alone is known, another one its user names.
            "OAUTH_ISSUER": self.config.outer.get("OAUTH_ISSUER", self._server.url if self._is_own() else ""),
            **models.provide(self.config, offline_url),
        }
        if not self.config.embedded:
            provided["S3_REGION_NAME"] = self.config.region
            # Whether somebody posts the put events of a foreign store nobody knows; the sweep is right in any case.
            provided["PUT_EVENTS"] = self.config.outer.get("PUT_EVENTS", "") or "false"
        else:
            provided |= {"S3_REGION_NAME": "us-east-1", "S3_SIGNATURE": "v4"}
        return provided

    def _is_own(self) -> bool:
        """Whether the service is for this machine alone."""
        return not self.config.shared and is_in_networks(self._server.host)

    def _answer(self, request: Request) -> Response:
        # A web page can make its own name point here (DNS rebinding), and would then be of the service's own origin.
        if self._is_own() and not (LambdaApi.owns(request) or names_this_server(request, self._names)):
            return answer_json(
                421,
                {
                    "message": "This service is for this machine alone, and answers to no other name than its own: "
                    f"{self._server.url}. Set OAUTH_ISSUER to the address by which others reach it, or start it with "
                    "`livemem serve --host`."
                },
            )
        if self._lambda_api is None or self._http_api is None:
            return _UNAVAILABLE
        if self._store and request.path.startswith(addresses.PREFIX):
            return self._store.answer(request)
        if request.path == metrics.PATH:
            return self._tell_metrics(request)
        if request.path == HEALTH_PATH:
            status = "ok" if self._ready else "starting"
            challenge = parse_qs(urlsplit(request.target).query).get("challenge", [""])[0]
            proof = {"proof": self.data.proof(challenge)} if challenge else {}
            return answer_json(200 if self._ready else 503, {"status": status, **proof})
        # An invocation skips every check of the API, and behind a proxy any client has an address of this machine: of a
        # shared service only a network that its user named counts.
        outside = not is_in_networks(request.client) and is_in_networks(request.client, self.config.invoke_from)
        if LambdaApi.owns(request) and (outside or not self.config.shared):
            return self._lambda_api.answer(request)
        return self._http_api.answer(request)

    def _tell_metrics(self, request: Request) -> Response:
        key = self.config.metrics_key
        # Without a key it is for a Prometheus of this machine, and for no web page that its user has open.
        outside = self.config.shared or not is_in_networks(request.client) or is_forwarded(request)
        if key is None and (outside or is_from_web_page(request)):
            return answer_json(404, {"message": "Not Found"})
        if key is not None and not metrics.may_read(request.header("Authorization"), key):
            return answer_json(401, {"message": "Unauthorized"}, (("WWW-Authenticate", "Bearer"),))
        for pool in self._pools.values():
            pool.measure()
        given_up = len(list(self.data.dead_letters.glob("*"))) if self.data.dead_letters.exists() else 0
        self._metrics.set("livemem_dead_letters", given_up)
        return Response(200, (("Content-Type", metrics.CONTENT_TYPE),), self._metrics.render().encode())
