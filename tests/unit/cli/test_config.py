"""Where the service is and who asks: what wins over what, and who may read the file."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from live_memory.cli import config, local_service, repository
from live_memory.cli.config import Profile
from live_memory.cli.exits import NO_ACCESS, Refused
from live_memory.cli.init.accepted import Accepted
from live_memory.cli.local_service import LocalService
from tests.support.cases import each
from tests.support.cli_harness import TOKEN, CliHarness
from tests.support.scripted import URL, problem

ANN = {"name": "ann", "permissions": ["read", "write"], "space_ids": ["demo"], "expires_at": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "livemem" / "config.toml"


def settle(path: Path, **variables: str):
    return config.settle({"LIVEMEM_CONFIG": str(path), **variables})


def test_only_its_owner_may_read_the_file_and_its_folder(path: Path):
    os.umask(0)
    config.keep(path, "default", Profile(URL, TOKEN))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [one.name for one in path.parent.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o666])
def test_a_file_that_others_may_use_is_refused_with_the_way_to_mend_it(path: Path, mode: int):
    config.keep(path, "default", Profile(URL, TOKEN))
    path.chmod(mode)

    with pytest.raises(Refused, match=f"chmod 600 {path}"):
        settle(path)
    with pytest.raises(Refused, match="chmod 600"):
        config.keep(path, "other", Profile(URL, TOKEN))


def test_a_write_that_fails_leaves_the_former_file_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch):
    config.keep(path, "default", Profile(URL, TOKEN))
    before = path.read_text()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Refused, match="No space left on device"):
        config.keep(path, "default", Profile(URL, "lm_other"))

    assert path.read_text() == before
    assert [one.name for one in path.parent.iterdir()] == ["config.toml"]


def test_other_profiles_and_comments_stay(path: Path):
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    path.write_text(f'# mine\n[profiles.work]\nurl = "{URL}" # the office\ntoken = "lm_work"\n')

    config.keep(path, "default", Profile(URL, TOKEN, "demo"))
    config.keep(path, "default", None)
    config.keep(path, "home", Profile(URL, 'a"b\nc'))

    assert "# mine" in path.read_text()
    assert "# the office" in path.read_text()
    assert config.read(path) == {"work": Profile(URL, "lm_work"), "home": Profile(URL, 'a"b\nc')}


@pytest.mark.parametrize("text", ["[", "profiles = 1", "[profiles]\nwork = 2", "[profiles.default]\ntoken = 3", "\xff"])
def test_a_broken_file_is_refused_by_its_name(path: Path, text: str):
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(Refused, match=str(path)):
        settle(path)


def test_the_environment_wins_over_the_file_and_the_option_over_both(path: Path):
    config.keep(path, "default", Profile(URL, TOKEN, "from-file"))

    found = settle(path)
    assert (found.url, found.token, found.space) == (URL, TOKEN, "from-file")
    assert set(found.sources.values()) == {"file"}

    found = settle(path, LIVEMEM_TOKEN="lm_env", LIVEMEM_URL="https://other.example.org/v1/", LIVEMEM_SPACE="from-env")
    assert (found.url, found.token, found.space) == ("https://other.example.org", "lm_env", "from-env")

    both = {"LIVEMEM_CONFIG": str(path), "LIVEMEM_SPACE": "from-env"}
    assert config.settle(both, space="said").space == "said"


def test_a_url_of_the_environment_is_never_sent_the_token_of_the_file(path: Path):
    config.keep(path, "default", Profile(URL, TOKEN))

    with pytest.raises(Refused, match="another service"):
        settle(path, LIVEMEM_URL="https://evil.example.org")

    assert settle(path, LIVEMEM_URL=f"{URL}/v1/").token == TOKEN


def test_a_profile_is_chosen_by_option_then_environment(path: Path):
    config.keep(path, "work", Profile(URL, "lm_work"))
    config.keep(path, "home", Profile(URL, "lm_home"))

    assert settle(path, LIVEMEM_PROFILE="work").token == "lm_work"
    variables = {"LIVEMEM_CONFIG": str(path), "LIVEMEM_PROFILE": "work"}
    assert config.settle(variables, profile="home").token == "lm_home"
    with pytest.raises(Refused, match="no profile nowhere"):
        config.settle(variables, profile="nowhere")


def test_with_all_in_the_environment_no_file_is_looked_at(path: Path):
    path.parent.mkdir(parents=True)
    path.write_text("[")
    variables = {"LIVEMEM_URL": URL, "LIVEMEM_TOKEN": TOKEN, "LIVEMEM_SPACE": "demo"}
    assert settle(path, **variables).token == TOKEN


@each(
    "url",
    [
        "ftp://x",
        "memory.example.org",
        "https://",
        "https://ann:pw@x",
        "https://x?a=b",
        "https://x#y",
        "http://[",
        "https://x:y",
    ],
)
def test_what_is_no_url_of_a_service_is_refused(url: str):
    with pytest.raises(Refused):
        config.check_url(url)


def test_a_url_without_a_scheme_is_answered_with_the_one_to_add():
    with pytest.raises(Refused, match="add http://"):
        config.check_url("127.0.0.1:3000")


@each(
    ("url", "is_open"),
    [("http://x.org", True), ("https://x.org", False), ("http://127.0.0.1:3000", False), ("http://[::1]:3000", False)],
)
def test_what_can_be_read_on_the_way_is_known(url: str, is_open: bool):
    assert config.is_open(url) is is_open


def test_what_is_missing_is_said_with_what_to_do(path: Path):
    found = settle(path)
    with pytest.raises(Refused, match="livemem login --url"):
        found.need_url()
    with pytest.raises(Refused, match="livemem login") as caught:
        found.need_token()
    assert caught.value.code == NO_ACCESS
    with pytest.raises(Refused, match="-s SPACE"):
        found.need_space()


def test_neither_profile_nor_settings_show_their_token(path: Path):
    config.keep(path, "default", Profile(URL, TOKEN))
    assert TOKEN not in repr(config.read(path))
    assert TOKEN not in repr(settle(path))


def test_login_takes_the_token_of_stdin_and_keeps_it(desk: CliHarness):
    desk.alone().answers = {"get_whoami": ANN, "get_space": {}}

    said = desk.say("login", "--url", f"{URL}/v1", "--space", "demo", stdin=f"{TOKEN}\n")

    assert said.code == 0
    assert "You are ann (read, write)" in said.out
    assert TOKEN not in said.out + said.err
    assert config.read(desk.config) == {"default": Profile(URL, TOKEN, "demo")}
    assert desk.headers[0]["authorization"] == f"Bearer {TOKEN}"


def test_login_takes_the_token_of_the_environment(desk: CliHarness):
    desk.alone().answers = {"get_whoami": ANN}
    desk.environ["LIVEMEM_TOKEN"] = TOKEN
    assert desk.say("login", "--url", URL).code == 0
    assert config.read(desk.config)["default"].token == TOKEN


def test_login_keeps_nothing_that_the_service_does_not_know(desk: CliHarness):
    desk.alone().answers = {"get_whoami": problem(401, "unauthenticated")}
    said = desk.say("login", "--url", URL, stdin=TOKEN)
    assert said.code == 4
    assert not desk.config.exists()


def test_login_without_a_token_says_so(desk: CliHarness):
    said = desk.alone().say("login", "--url", URL, stdin="  \n")
    assert (said.code, desk.asked) == (2, [])
    assert "LIVEMEM_TOKEN" in said.err


def test_login_asks_on_a_terminal_and_does_not_show_what_is_typed(desk: CliHarness):
    desk.alone().terminal = True
    desk.answers = {"get_whoami": ANN}
    said = desk.say("login", stdin=f"{URL}\n{TOKEN}\n")
    assert said.code == 0
    assert TOKEN not in said.out + said.err
    assert config.read(desk.config)["default"] == Profile(URL, TOKEN)


def test_login_warns_where_others_can_read_the_token(desk: CliHarness):
    desk.alone().answers = {"get_whoami": ANN}
    assert "not encrypted" in desk.say("login", "--url", "http://memory.example.org", stdin=TOKEN).err


def test_no_option_takes_a_token(desk: CliHarness):
    assert desk.say("login", "--token", TOKEN).code == 2


def test_logout_takes_the_profile_out(desk: CliHarness):
    desk.alone()
    config.keep(desk.config, "default", Profile(URL, TOKEN))
    assert desk.say("logout").code == 0
    assert TOKEN not in desk.config.read_text()
    assert desk.say("logout").code == 7


def test_config_shows_where_everything_is_from_and_no_token(desk: CliHarness):
    config.keep(desk.config, "default", Profile(URL, "lm_kept", "kept"))
    said = desk.say("config", "--json")
    assert said.json["from"] == {"url": "environment", "token": "environment", "space": "environment"}
    assert said.json["token"] == "set"
    assert "lm_" not in said.out + desk.say("config").out


def test_whoami_says_who_one_is(desk: CliHarness):
    desk.answers = {"get_whoami": ANN}
    assert desk.say("whoami", "--json").json == ANN
    said = desk.say("whoami").out
    assert "name\tann" in said
    assert "space here\tdemo\n" in said
    assert "personal space here" not in said


# The service that `init` recorded for a repository


def recorded(home: Path, service: str, **variables: str):
    """What is settled in a repository with a record, where somebody is logged in to URL, and elsewhere."""
    environ = {
        "LIVEMEM_CONFIG": str(home / "config.toml"),
        "LIVEMEM_STATE": str(home / "state"),
        "LIVEMEM_DATA_DIR": str(home / "data"),
        **variables,
    }
    config.keep(home / "config.toml", "default", Profile(URL, TOKEN))
    config.keep(home / "config.toml", "work", Profile("https://work.example.org", "lm_work"))
    (home / "ferry" / "below").mkdir(parents=True, exist_ok=True)
    (home / "ferry" / ".git").mkdir(exist_ok=True)
    Accepted(environ).keep(repository.of(home / "ferry"), "codex", "demo", service)
    return settled(home, environ)


def settled(home: Path, environ: dict[str, str], **asked: Any) -> list[config.Settings]:
    """What is settled in a folder of the repository, and above it."""
    running = LocalService(1, "http://127.0.0.1:4000", "lm_own", {})
    folders = (home / "ferry" / "below", home)
    return [config.settle(environ, folders=[folder], look=lambda _: running, **asked) for folder in folders]


def test_a_login_to_another_service_does_not_count_where_init_gave_the_repository_that_of_this_machine(tmp_path: Path):
    here, elsewhere = recorded(tmp_path, str(tmp_path / "data"))
    assert (here.url, here.token, here.is_local_service, here.is_recorded) == (
        "http://127.0.0.1:4000",
        "lm_own",
        True,
        True,
    )
    assert (elsewhere.url, elsewhere.token, elsewhere.is_recorded) == (URL, TOKEN, False)


def test_the_login_to_the_recorded_service_is_used_and_without_one_that_of_the_profile(tmp_path: Path):
    here, elsewhere = recorded(tmp_path, "https://work.example.org")
    assert (here.url, here.token, here.is_recorded) == ("https://work.example.org", "lm_work", True)
    assert elsewhere.url == URL
    here, _ = recorded(tmp_path, "https://nobody.example.org")
    assert (here.url, here.is_recorded) == (URL, False)


def test_each_client_goes_to_the_service_that_init_recorded_for_it_and_commands_must_name_one(tmp_path: Path):
    recorded(tmp_path, local := str(tmp_path / "data"))
    environ = {"LIVEMEM_CONFIG": str(tmp_path / "config.toml"), "LIVEMEM_STATE": str(tmp_path / "state")}
    environ |= {"LIVEMEM_DATA_DIR": local}
    for name, service in (("claude-code", URL), ("vscode", "https://work.example.org")):
        Accepted(environ).keep(repository.of(tmp_path / "ferry"), name, "demo", service)

    tokens = {
        **dict.fromkeys(("codex", "codex-mcp-client"), "lm_own"),
        "claude-code": TOKEN,
        **dict.fromkeys(("vscode", "Visual Studio Code", "copilot-cli"), "lm_work"),
    }
    assert {name: settled(tmp_path, environ, client=name)[0].token for name in tokens} == tokens
    for asked in ({}, {"client": "cursor"}):
        with pytest.raises(Refused, match=r"different services: name one by `--profile NAME`"):
            settled(tmp_path, environ, **asked)
    named = settled(tmp_path, environ, client="cursor", service="https://work.example.org")[0]
    assert named.token == "lm_work"
    assert settled(tmp_path, {**environ, "LIVEMEM_PROFILE": "work"})[0].token == "lm_work"


@pytest.mark.parametrize(
    ("named", "url"),
    [
        ({"LIVEMEM_PROFILE": "work"}, "https://work.example.org"),
        ({"LIVEMEM_URL": "https://other.example.org", "LIVEMEM_TOKEN": "lm_other"}, "https://other.example.org"),
    ],
)
def test_a_service_that_the_call_names_counts_more_than_the_record(tmp_path: Path, named: dict[str, str], url: str):
    here, _ = recorded(tmp_path, str(tmp_path / "data"), **named)
    assert (here.url, here.is_recorded) == (url, False)


def test_whoami_says_that_the_repository_has_another_service_than_the_login(
    desk: CliHarness, monkeypatch: pytest.MonkeyPatch
):
    here, _ = recorded(desk.home, str(desk.home / "data"))
    desk.answers = {"get_whoami": ANN}
    desk.environ |= {"LIVEMEM_CONFIG": str(desk.home / "config.toml"), "LIVEMEM_STATE": str(desk.home / "state")}
    for name in ("LIVEMEM_URL", "LIVEMEM_TOKEN", "LIVEMEM_SPACE"):
        desk.environ.pop(name, None)
    monkeypatch.setattr(local_service, "ready", lambda _: LocalService(1, here.url or "", "lm_own", {}))
    monkeypatch.chdir(desk.home)
    assert "your login is to another" not in desk.say("whoami").out
    monkeypatch.chdir(desk.home / "ferry")
    assert "your login is to another" in desk.say("whoami").out
