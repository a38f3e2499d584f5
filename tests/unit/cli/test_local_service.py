"""The service of this machine, as its data folder shows it: whose process it is, and what a later start is given."""

import json
import os
import socket
import subprocess
import sys

import pytest

from live_memory.cli import config, local_service
from live_memory.cli.exits import Refused
from live_memory.cli.local_service import Choices
from local import command_line
from tests.support.cli_harness import CliHarness

KEEPS_OPEN = "import sys; file = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "admin.key").write_text("secret\n")
    return tmp_path


@pytest.fixture
def process():
    """Starts a process that has a file open until the test ends."""
    started = []

    def start(file):
        running = subprocess.Popen(
            [sys.executable, "-c", KEEPS_OPEN, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(running)
        running.stdout.readline()
        return running

    yield start
    for one in started:
        one.kill()
        one.communicate()


def claim(folder, pid, endpoints_pid=None):
    (folder / "runtime.lock").write_text(f"{pid}\n")
    told = {"api": "http://127.0.0.1:3999", "pid": endpoints_pid or pid, "admin_key_file": str(folder / "admin.key")}
    (folder / "endpoints.json").write_text(json.dumps(told))


@pytest.mark.process
def test_an_id_that_a_crash_left_behind_never_ends_the_process_that_has_it_now(folder, process):
    other = process(os.devnull)
    claim(folder, other.pid)

    assert local_service.running(folder) is None
    assert local_service.ready(folder) is None
    assert not local_service.stop(folder)
    assert other.poll() is None


@pytest.mark.process
def test_a_service_runs_while_it_has_its_lock_open_is_ready_when_it_says_so_and_is_ended(folder, process):
    (folder / "runtime.lock").touch()
    service = process(folder / "runtime.lock")

    claim(folder, service.pid, endpoints_pid=service.pid + 1)
    assert local_service.running(folder) == service.pid
    assert local_service.ready(folder) is None, "the endpoints are those of another process"

    claim(folder, service.pid)
    found = local_service.ready(folder)
    assert (found.url, found.token) == ("http://127.0.0.1:3999", "secret")
    assert "secret" not in repr(found)
    settings = config.settle({"LIVEMEM_DATA_DIR": str(folder), "LIVEMEM_CONFIG": str(folder / "none")})
    assert (settings.url, settings.token, settings.sources["token"]) == (found.url, "secret", "local service")
    elsewhere = {"LIVEMEM_URL": "https://memory.example.org", "LIVEMEM_DATA_DIR": str(folder)}
    assert config.settle({**elsewhere, "LIVEMEM_CONFIG": str(folder / "none")}).token is None

    assert local_service.stop(folder)
    assert service.wait(10) == -15


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
    options = {variable: f"--{name}" for name, variable in local_service._VARIABLES.items()}
    assert options == command_line.OPTIONS


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "says", "background"),
    [
        (["--port", "{taken}"], "Set --port to another port", True),
        (["--s3", "http://127.0.0.1:9", "--bucket", "notes"], "check --s3", False),
        (["--llm", "no-address"], "--llm", True),
        (["--region", "nowhere at all"], "--region", False),
    ],
)
def test_a_serve_that_failed_keeps_none_of_its_options_and_names_them_as_options(tmp_path, options, says, background):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "serve.json").write_text('{"llm": "http://127.0.0.1:9/v1"}')
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LIVEMEM_DATA_DIR": str(data)}
    environ |= {"PYTHONPATH": os.pathsep.join(sys.path), "S3_ACCESS_KEY_ID": "k", "S3_SECRET_ACCESS_KEY": "s"}
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments = [option.format(taken=server.getsockname()[1]) for option in options]
        done = subprocess.run(
            [sys.executable, "-m", "live_memory.cli", "serve", *arguments, *(["--background"] if background else [])],
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode != 0
    assert says in done.stderr
    assert not any(variable in done.stderr for variable in command_line.OPTIONS)
    assert (data / "serve.json").read_text() == '{"llm": "http://127.0.0.1:9/v1"}'


@pytest.mark.parametrize("text", ["{", "[]", '{"other": 1}'])
def test_choices_that_cannot_be_read_stop_a_start(tmp_path, text):
    (tmp_path / "serve.json").write_text(text)

    with pytest.raises(Refused, match="remove it"):
        local_service.chosen(tmp_path, Choices())


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


def test_a_model_can_be_tried_only_where_the_service_is_installed_and_a_model_is_named(tmp_path, monkeypatch):
    cli = CliHarness(tmp_path)
    unnamed = cli.say("try-model")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    without = cli.say("try-model", "--llm", "offline")

    assert (unnamed.code, without.code) == (2, 2)
    assert "--llm URL" in unnamed.err
    assert "live-memory[server]" in without.err
