"""The service of this machine, as its data folder shows it: whose process it is, and what a later start is given."""

import hmac
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from live_memory.cli import config, local_service, own_model
from live_memory.cli.exits import Refused
from live_memory.cli.local_service import Choices
from local import command_line
from local.config import ConfigError, read_config
from local.data_dir import DataDir, DataDirInUseError
from local.external_s3 import StoreError, check_bucket
from local.front.httpd import Response, Server, answer_json
from tests.support.cli_harness import CliHarness


class Service:
    """What a service shows in its data folder and at its address."""

    def __init__(self, folder):
        self.folder, self.instance, self.challenges = folder, "a" * 32, []
        self.server = Server("127.0.0.1", 0, self.answer, max_body=100)
        self.server.start()
        (folder / "admin.key").write_text("secret\n")
        self.tell(self.instance)

    def answer(self, request):
        assert request.path == "/healthz"
        challenge = request.target.partition("?challenge=")[2]
        self.challenges.append(challenge)
        proof = hmac.digest((self.instance or "").encode(), challenge.encode(), "sha256").hex()
        return answer_json(200, {"status": "ok", "proof": proof} if self.instance else {"status": "ok"})

    def tell(self, instance):
        named = {"instance": instance} if instance else {}
        told = {"api": self.server.url, "pid": 7, "admin_key_file": str(self.folder / "admin.key"), **named}
        (self.folder / "endpoints.json").write_text(json.dumps(told))


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.server.stop(grace_seconds=0)


def test_a_service_is_ready_when_its_address_proves_the_id_of_its_start(service):
    found = local_service.ready(service.folder)
    assert found
    assert (found.url, found.token, found.pid) == (service.server.url, "secret", 7)
    assert "secret" not in repr(found)

    settings = config.settle({"LIVEMEM_DATA_DIR": str(service.folder), "LIVEMEM_CONFIG": str(service.folder / "none")})
    assert (settings.url, settings.token, settings.sources["token"]) == (found.url, "secret", "local service")
    elsewhere = {"LIVEMEM_URL": "https://memory.example.org", "LIVEMEM_DATA_DIR": str(service.folder)}
    assert config.settle({**elsewhere, "LIVEMEM_CONFIG": str(service.folder / "none")}).token is None


def test_no_other_program_gets_the_key_after_a_crash(service):
    local_service.ready(service.folder)
    local_service.ready(service.folder)
    assert len({*service.challenges}) == 2, "no answer can be repeated"
    service.tell("b" * 32)
    assert local_service.ready(service.folder) is None, "another start has the port"
    service.server.stop(grace_seconds=0)
    service.tell(service.instance)
    assert local_service.ready(service.folder) is None, "nobody has the port"
    assert not local_service.stop(service.folder)
    for text in ("{", "[]", "{}", '{"api": 1}', '{"api": "http://[::1"}'):
        (service.folder / "endpoints.json").write_text(text)
        assert local_service.ready(service.folder) is None


@pytest.mark.parametrize("body", [b"no", b"[]", b"null"])
def test_what_answers_something_else_is_not_the_service(service, body):
    service.server.stop(grace_seconds=0)
    service.server = Server("127.0.0.1", 0, lambda _: Response(200, (), body), max_body=100)
    service.server.start()
    service.tell(service.instance)
    assert local_service.ready(service.folder) is None


def test_a_service_of_a_former_version_is_named_and_no_other_one_is_started_beside_it(service):
    service.instance = None
    service.tell(None)
    for use in (local_service.ready, local_service.stop, lambda folder: local_service.start({}, folder, Choices())):
        with pytest.raises(Refused, match=r"former version: end its process \(7\)"):
            use(service.folder)


@pytest.mark.parametrize("says", ["its id", "that it starts", "nothing"])
def test_a_stop_asks_the_start_that_has_the_folder_and_waits_until_the_folder_is_free(tmp_path, says):
    data, asked = DataDir(tmp_path), []
    service = Service(tmp_path) if says != "that it starts" else None
    if service:
        service.instance = data.instance if says == "its id" else "hung"
        service.tell(data.instance)

    def sleep(_):
        asked.append((tmp_path / "stop").read_text())
        assert data.is_to_stop()
        if len(asked) == 3:
            data.close()

    assert local_service.stop(tmp_path, sleep)
    assert asked == [data.instance if says == "its id" else ""] * 3
    assert not local_service.stop(tmp_path), "nobody has it any more"
    if service:
        service.server.stop(grace_seconds=0)


def test_a_service_that_does_not_end_is_named(service):
    data = DataDir(service.folder)
    service.tell(service.instance)
    with pytest.raises(Refused, match=r"\(process 7\) has not ended within 30 s"):
        local_service.stop(service.folder, lambda _: None)
    data.close()


def test_where_no_lock_can_be_looked_at_the_service_is_asked_whether_it_runs(service, monkeypatch):
    monkeypatch.setitem(sys.modules, "filelock", None)

    def sleep(_):
        service.instance = "somebody else's"

    assert local_service.stop(service.folder, sleep)
    assert not local_service.stop(service.folder, sleep)


def test_a_stop_whose_file_a_start_removes_with_those_of_the_one_before_is_asked_for_again(tmp_path, monkeypatch):
    removed = []
    monkeypatch.setattr(local_service, "ready", lambda _: None)
    monkeypatch.setattr(local_service, "_is_locked", lambda _: len(removed) < 2)

    def sleep(_):
        (tmp_path / local_service.STOP).unlink()
        removed.append(1)

    assert local_service.stop(tmp_path, sleep)
    assert len(removed) == 2


@pytest.mark.process
def test_a_stop_of_a_service_that_has_just_begun_to_start_returns_when_its_process_has_ended(tmp_path):
    data = tmp_path / "data"
    arguments, root, variables = local_service.command(dict(os.environ), data, Choices(port="0"))
    process = subprocess.Popen(arguments, cwd=root, env=variables, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not local_service._is_locked(data):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert local_service.stop(data)
    # Only Python's own end is left to it, which is not waited for.
    assert process.wait(5) == 0
    assert not (data / "endpoints.json").exists()


def test_a_later_start_has_the_choices_of_the_one_before_and_no_key_is_kept(tmp_path):
    environ = {"S3_ENDPOINT_URL": "http://store", "S3_SECRET_ACCESS_KEY": "secret", "PORT": "1"}
    first = Choices.of(environ, port="3100", s3=None, bucket="notes", region=None, llm=None, model=None)
    _, _, variables = local_service.command(environ, tmp_path / "data", first, kept=True)
    (tmp_path / "data").mkdir(mode=0o700)
    command_line.keep_choices(tmp_path / "data", variables)

    again = local_service.chosen(tmp_path / "data", Choices())
    assert again.variables() == {"PORT": "3100", "S3_ENDPOINT_URL": "http://store", "S3_BUCKET_NAME": "notes"}
    back = local_service.chosen(tmp_path / "data", Choices(s3="", bucket="", model="big"))
    assert back.variables() == {"PORT": "3100", "LLMAAS_MODEL": "big"}
    assert "secret" not in (tmp_path / "data/serve.json").read_text()
    assert (tmp_path / "data/serve.json").stat().st_mode & 0o077 == 0

    # An agent's own start keeps nothing: its free port is not one that a person chose.
    _, _, variables = local_service.command(environ, tmp_path / "data", Choices(port="0"))
    command_line.keep_choices(tmp_path / "data", variables)
    assert local_service.chosen(tmp_path / "data", Choices()) == again


def test_each_option_of_a_start_has_one_name_for_the_command_line_and_the_service():
    names = {name: variable for name, variable in local_service._VARIABLES.items() if name != "program"}
    options = {variable: f"--{name.replace('_', '-')}" for name, variable in names.items()}
    assert options == command_line.OPTIONS


KEYS = {"S3_ACCESS_KEY_ID": "k", "S3_SECRET_ACCESS_KEY": "s"}


@pytest.mark.process
@pytest.mark.parametrize("background", [False, True])
def test_a_serve_that_failed_keeps_none_of_its_options_and_names_them_as_options(tmp_path, background):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "serve.json").write_text('{"llm": "http://127.0.0.1:9/v1"}')
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LIVEMEM_DATA_DIR": str(data), **KEYS}
    if background:
        with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(Refused) as refused:
            local_service.start(environ, data, Choices(port=str(server.getsockname()[1])), kept=True)
        says = str(refused.value)
    else:
        store = ["--s3", "http://127.0.0.1:9", "--bucket", "notes"]
        arguments = [sys.executable, "-m", "live_memory.cli", "serve", "--port", "0", *store]
        paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(arguments, env=environ | paths, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0
        says = done.stderr
    assert ("Set --port to another port" if background else "check --s3") in says
    assert not any(variable in says for variable in command_line.OPTIONS)
    assert (data / "serve.json").read_text() == '{"llm": "http://127.0.0.1:9/v1"}'


@pytest.mark.parametrize(("name", "value"), [("llm", "no-address"), ("region", "nowhere at all")])
def test_an_option_of_which_nothing_can_be_made_is_named_as_one(tmp_path, name, value):
    _, _, variables = local_service.command(KEYS, tmp_path, Choices(**{name: value}), kept=True)
    with pytest.raises((ConfigError, StoreError)) as refused:
        check_bucket(read_config(variables))
    says = command_line.in_its_words(str(refused.value), variables)
    assert f"--{name}" in says
    assert not any(variable in says for variable in command_line.OPTIONS)


@pytest.mark.parametrize("text", ["{", "[]", '{"other": 1}'])
def test_choices_that_cannot_be_read_stop_a_start(tmp_path, text):
    (tmp_path / "serve.json").write_text(text)

    with pytest.raises(Refused, match="remove it"):
        local_service.chosen(tmp_path, Choices())


def test_the_service_and_who_starts_it_have_the_same_status_for_a_folder_in_use():
    assert DataDirInUseError.status == local_service.IN_USE


@pytest.mark.process
def test_a_service_that_does_not_start_says_why(tmp_path, monkeypatch):
    says = [sys.executable, "-c", "import sys; sys.exit('Cannot listen.')"]
    monkeypatch.setattr(local_service, "command", lambda *_, **__: (says, tmp_path, dict(os.environ)))

    with pytest.raises(Refused, match=r"It says: Cannot listen\."):
        local_service.start({}, tmp_path / "data", Choices())


def test_the_service_listens_on_this_machine_alone(tmp_path):
    _, _, variables = local_service.command({"HOST": "0.0.0.0", "X": "y"}, tmp_path, Choices(port="0"))

    assert (variables["HOST"], variables["PORT"], variables["X"]) == ("127.0.0.1", "0", "y")


def test_others_are_served_only_with_a_key_of_ones_own_and_a_store_of_ones_own(tmp_path):
    key, store = {"ADMIN_BOOTSTRAP_KEY": "k" * 32}, Choices(s3="http://store")
    for environ, choices, says in (({}, store, "ADMIN_BOOTSTRAP_KEY"), (key, Choices(), "--s3 URL")):
        with pytest.raises(Refused, match=says):
            local_service.command(environ, tmp_path, choices, "0.0.0.0")

    _, _, shared = local_service.command(key, tmp_path, store, "0.0.0.0")
    assert (shared["HOST"], shared["LIVEMEM_SHARED"]) == ("0.0.0.0", "true")
    _, _, alone = local_service.command({"LIVEMEM_SHARED": "true"}, tmp_path, store)
    assert (alone["HOST"], alone["LIVEMEM_SHARED"]) == ("127.0.0.1", "false")


def test_the_store_and_port_of_a_project_are_not_those_of_the_service_that_its_agent_starts(tmp_path):
    project = {"S3_REGION_NAME": "eu-west-3", "S3_ACCESS_KEY_ID": "k", "S3_BUCKET_NAME": "shop", "PORT": "8080"}
    _, _, variables = local_service.command(project, tmp_path, Choices())
    assert not project.keys() & variables.keys()

    _, _, variables = local_service.command(project, tmp_path, Choices(s3="http://store", bucket="notes"))
    stores = {name: value for name, value in variables.items() if name.startswith("S3_")}
    assert stores == {"S3_ENDPOINT_URL": "http://store", "S3_BUCKET_NAME": "notes", "S3_ACCESS_KEY_ID": "k"}


def installed(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "claude").write_text("#!/bin/sh\n")
    (folder / "claude").chmod(0o755)
    return folder / "claude"


def test_the_program_is_fixed_by_its_whole_path_and_never_one_of_the_project(tmp_path, monkeypatch):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    of_project, of_user = installed(project / "bin"), installed(tmp_path / "home" / "bin")
    packed = installed(tmp_path / "other" / "node_modules" / ".bin")
    path = os.pathsep.join(["bin", *(str(one.parent) for one in (of_project, packed, of_user))])
    said = Choices(llm="claude")

    found = own_model.settled(said, {"PATH": path}, project / "src")
    assert (found.llm, found.program) == ("cli:claude", str(of_user))
    of_user.unlink()
    with pytest.raises(Refused, match="install Claude Code"):
        own_model.settled(said, {"PATH": path}, project / "src")


def test_a_project_cannot_name_the_program_and_another_model_takes_it_back(tmp_path):
    local_service.keep(tmp_path, Choices(llm="cli:claude", program="/home/bin/claude", llm_for="all", port="0"))
    kept = local_service.chosen(tmp_path, Choices())
    project = {"LIVEMEM_LLM_PROGRAM": "/project/claude", "LIVEMEM_LLM_FOR": "all"}

    assert (kept.program, kept.llm_for) == ("/home/bin/claude", "all")
    assert local_service.chosen(tmp_path, Choices(llm="http://127.0.0.1/v1")).known().keys() == {"llm", "port"}
    assert not project.keys() & local_service.command(project, tmp_path, Choices())[2].keys()
    assert (tmp_path / "serve.json").stat().st_mode & 0o077 == 0


def test_a_model_can_be_tried_only_where_the_service_is_installed_and_a_model_is_named(tmp_path, monkeypatch):
    cli = CliHarness(tmp_path)
    unnamed = cli.say("try-model")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    without = cli.say("try-model", "--llm", "offline")

    assert (unnamed.code, without.code) == (2, 2)
    assert "--llm URL" in unnamed.err
    assert "live-memory[server]" in without.err
