"""Puts the parts together in the order in which they need each other, and takes them apart again."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from local import ROOT, admin_key, models
from local.config import Config
from local.data_dir import DataDir
from local.files import read_secret, write_file
from local.front.httpd import Server
from local.functions.template import Template, read_template
from local.offline_llm import server as offline_llm
from local.sam import docker, minio
from local.sam.build import build
from local.sam.config import ARCHITECTURE, IMAGE, SAM, Ports
from local.sam.servers import ServerProcess, StackError, check_free
from local.sam.variables import Store, functions_variables, sam_variables
from local.sam.warm_up import warm_up

_READY_SECONDS = 90.0


class Stack:
    """Everything that runs between `start` and `stop`."""

    def __init__(self, config: Config) -> None:
        """Check that all parts are there, and lock the data folder; nothing runs yet.

        Raises StackError, DataDirError, TemplateError, with one sentence on what is missing.
        """
        self.config, self.ports = config, Ports.of(config)
        self._servers: list[ServerProcess] = []
        self._llm: Server | None = None
        self._functions = ""
        """A variable that the containers of this stack's functions alone have (NAME=value), once they may run."""
        self.template: Template = read_template(ROOT / "template.yaml")
        if not SAM.exists():
            raise StackError("The SAM CLI is missing: run make setup-sam.")
        self.host = docker.find_host()
        check_free("127.0.0.1", self.ports.api)
        for port in self.ports[1:]:
            check_free(self.host, port)
        docker.ensure_image(IMAGE)
        minio.find_program(config.outer)
        self.data = DataDir(config.data)

    def start(self) -> dict[str, Any]:
        """Start everything and wait until it answers; returns the endpoints, also written to the data folder.

        Raises StackError if a part did not start. Call `stop` then too.
        """
        began = time.monotonic()
        built = build()
        _say(f"built in {time.monotonic() - began:.1f} s")
        ports, host = self.ports, self.host
        lambda_url, api_url = f"http://{host}:{ports.lambda_api}", f"http://127.0.0.1:{ports.api}"
        secret = read_secret(self.data.root / "minio.key", random_bytes=24)
        store = Store(f"http://{host}:{ports.store}", self.config.bucket, minio.ACCESS_KEY, secret)
        needed = self.config.llm_url is None or self.config.embeddings_url is None
        if needed:
            self._llm = offline_llm.bind(host, ports.llm)
            self._llm.start()
        offline_url = f"http://{host}:{ports.llm}/v1" if needed else ""
        functions = functions_variables(
            self.template,
            self.config,
            store=store,
            api_url=api_url,
            lambda_url=lambda_url,
            offline_url=offline_url,
            admin_key_sha256=self.config.admin_key_sha256 or admin_key.sha256(self.data.admin_key()),
        )
        env_file = self.data.root / "env.json"
        write_file(env_file, json.dumps(functions, indent=2).encode(), mode=0o600)

        # Before MinIO, which refuses to notify a webhook that it cannot reach.
        self._functions = f"AWS_ENDPOINT_URL_LAMBDA={lambda_url}"
        self._start_sam("start-lambda", host, ports.lambda_api, built, env_file)
        self._start_sam("start-api", "127.0.0.1", ports.api, built, env_file)
        self._servers.append(minio.start(self.config, host, self.template, secret_key=store.secret_key))
        for server in self._servers:
            server.wait_ready(_READY_SECONDS)
        minio.prepare_bucket(store, self.template)
        _say("first call of each function:")
        warm_up(self.template, api_url, lambda_url, _say)
        endpoints = {
            "api": api_url,
            "lambda": lambda_url,
            "s3": store.url,
            **models.tell(self.config, offline_url),
            "bucket": self.config.bucket,
            "admin_key_file": None if self.config.admin_key_sha256 else str(self.data.admin_key_file),
            "logs": str(self.data.logs),
        }
        self.data.write_endpoints(endpoints)
        return endpoints

    def look(self) -> None:
        """Raise StackError about a part that has ended."""
        for server in self._servers:
            if not server.is_running():
                raise StackError(f"{server.name} has ended unexpectedly:\n{server.tail()}")

    def stop(self) -> None:
        """Stop everything that runs; says what it could not remove."""
        for server in self._servers:
            server.ask_to_stop()
        for server in self._servers:
            server.stop()
        if self._llm:
            self._llm.stop()
        try:
            if self._functions:
                docker.remove_functions(self._functions)
        except (subprocess.SubprocessError, OSError) as error:
            # Docker may have gone first.
            _say(f"could not clean up: {error}")
        self.data.close()

    def _start_sam(self, kind: str, host: str, port: int, template: Path, env_file: Path) -> None:
        command = [str(SAM), "local", kind, "--template", str(template), "--host", host, "--port", str(port)]
        command += ["--env-vars", str(env_file), "--skip-pull-image", "--no-watch"]
        # LAZY: EAGER leaks containers.
        command += ["--warm-containers", "LAZY", "--add-host", "host.docker.internal:host-gateway"]
        command += ["--layer-cache-basedir", str(self.data.root / "layers")]
        overrides = {"Architecture": ARCHITECTURE, "BucketName": self.config.bucket}
        command += ["--parameter-overrides", *(f"{name}={value}" for name, value in overrides.items())]
        variables, log = sam_variables(self.config.outer), self.data.logs / f"{kind}.log"
        server = ServerProcess(f"sam local {kind}", command, environment=variables, log=log, address=(host, port))
        self._servers.append(server)


def _say(line: str) -> None:
    print(f"  {line}", flush=True)
