"""From a client's registration to its tokens, their refresh and their end; no token is ever in the bucket."""

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from livemem.access import decision
from livemem.access.grant import Grant
from livemem.access.registry import Registry, Token
from livemem.errors import Forbidden, Unauthenticated
from livemem.signin import consent, exchange
from livemem.signin.refusal import Refused
from livemem.store.bucket import GRANT, OAUTH, TOKENS
from tests.support.cases import each
from tests.support.counting import Killed
from tests.support.mcp import token
from tests.support.world import BOOTSTRAP_KEY, World

ISSUER = "https://memory.example.org"
RESOURCE = f"{ISSUER}/mcp"
SECRET = "lm_" + "x" * 43
VERIFIER = "v" * 60
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
CALLBACK = "https://claude.ai/api/mcp/auth_callback"
CLIENT = consent.register({"client_name": "Claude", "redirect_uris": [CALLBACK]})


def world_with(*tokens: Token, **settings: Any) -> World:
    world = World(**{"oauth_issuer": ISSUER, **settings})
    let_in(world, *tokens or (token(SECRET, "read", "write", spaces=("demo", "other")),))
    return world


def let_in(world: World, *tokens: Token) -> None:
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=list(tokens)).to_bytes())
    world.new_process()


def asked(**changes: str) -> dict[str, str]:
    usual = {
        "response_type": "code",
        "client_id": CLIENT.client_id,
        "redirect_uri": CALLBACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": RESOURCE,
    }
    return {**usual, **changes}


def wanted(world: World | None = None, **changes: str) -> consent.AuthorizationRequest:
    client, uri = consent.check_client((world or world_with()).process, asked(**changes))
    return consent.check_request(asked(**changes), client, uri, RESOURCE)


def coded(world: World, *, scope: Any = ("read", "write"), spaces: Any = (), code: str = "code") -> str:
    request = wanted()
    consent.show_token(world.process, request, "nonce", SECRET, "ticket" + code)
    return consent.approve(world.process, request, "nonce", "ticket" + code, scope=scope, space_ids=spaces, code=code)


def redeemed(world: World, code: str = "code", **changes: str) -> exchange.Issued:
    sent: Any = {"client_id": CLIENT.client_id, "redirect_uri": CALLBACK, "verifier": VERIFIER, **changes}
    return exchange.redeem(world.process, code, **sent)


def signed_in(world: World, **chosen: Any) -> exchange.Issued:
    coded(world, **chosen)
    return redeemed(world)


def refreshed(world: World, refresh_token: str) -> exchange.Issued:
    return exchange.refresh(world.process, refresh_token, client_id=CLIENT.client_id)


def enter(world: World, access: str, *, needs: Any = "read", space_id: str | None = "demo", grants: bool = True) -> Any:
    return decision.authorise(world.process, f"Bearer {access}", needs=needs, space_id=space_id, grants=grants)


def test_a_grant_is_what_was_chosen_of_what_the_token_may_do():
    world = world_with()

    issued = signed_in(world, scope=["read"], spaces=["demo"])

    principal = enter(world, issued.access_token)
    assert (principal.name, principal.permissions, principal.space_ids) == ("ann", {"read"}, {"demo"})
    assert principal.connection is not None
    with pytest.raises(Forbidden):
        enter(world, issued.access_token, needs="write")
    with pytest.raises(Forbidden):
        enter(world, issued.access_token, space_id="other")


def test_a_space_that_was_made_a_moment_ago_is_open_to_a_grant_of_all_spaces_and_to_no_other():
    world = world_with()
    every = signed_in(world, spaces=()).access_token
    coded(world, spaces=["demo"], code="second")
    some = redeemed(world, "second").access_token
    for access in (every, some):
        enter(world, access)

    entry = token(SECRET, "read", "write", spaces=("demo", "other", "new"))
    world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=[entry]).to_bytes())

    assert "new" in enter(world, every, space_id="new").space_ids
    with pytest.raises(Forbidden):
        enter(world, some, space_id="new")


def test_a_grant_of_an_administrator_is_never_admin():
    world = world_with(token(SECRET, "read", "write", "admin", spaces=()))

    assert enter(world, signed_in(world).access_token).permissions == {"read", "write"}


def test_an_access_token_opens_nothing_but_what_accepts_grants():
    world = world_with()
    access = signed_in(world).access_token

    with pytest.raises(Unauthenticated):
        enter(world, access, grants=False)
    world.settings = world.settings.model_copy(update={"oauth_issuer": None})
    world.new_process()
    with pytest.raises(Unauthenticated):
        enter(world, access)


def test_a_warm_call_costs_no_request_for_30_seconds():
    world = world_with()
    access = signed_in(world).access_token
    enter(world, access)

    world.client.reset()
    enter(world, access)
    assert world.client.requests == []


@each(
    ("case", "change"),
    [
        ("revoked", lambda entry: [entry.model_copy(update={"revoked": True})]),
        ("removed", lambda _: []),
        ("without its spaces", lambda entry: [entry.model_copy(update={"space_ids": ["third"]})]),
    ],
)
def test_a_token_that_ends_takes_its_grants_with_it(case, change):
    world = world_with()
    issued = signed_in(world, spaces=["demo"])

    let_in(world, *change(token(SECRET, "read", "write", spaces=("demo", "other"))))

    with pytest.raises(Unauthenticated):
        enter(world, issued.access_token)


def test_a_code_that_comes_twice_makes_no_second_grant_and_ends_the_first():
    world = world_with()
    issued = signed_in(world)

    with pytest.raises(Refused, match="code"):
        redeemed(world)

    world.new_process()
    with pytest.raises(Unauthenticated):
        enter(world, issued.access_token)


@each(
    ("case", "changes"),
    [
        ("another client", {"client_id": consent.register({"redirect_uris": [CALLBACK, CALLBACK]}).client_id}),
        ("another redirect", {"redirect_uri": CALLBACK + "/"}),
        ("another verifier", {"verifier": "w" * 60}),
        ("the challenge instead", {"verifier": CHALLENGE}),
    ],
)
def test_a_code_is_of_use_only_to_the_client_that_asked(case, changes):
    world = world_with()
    coded(world)

    with pytest.raises(Refused):
        redeemed(world, **changes)
    assert world.keys(GRANT.prefix()) == []


def test_a_code_lives_for_a_minute():
    world = world_with()
    coded(world)
    world.clock.move(61)

    with pytest.raises(Refused):
        redeemed(world)


def test_a_refresh_gives_the_next_tokens_and_the_same_request_the_same_answer():
    world = world_with()
    first = signed_in(world)

    world.client.reset()
    second = refreshed(world, first.refresh_token)
    assert world.client.counts == {"GET": 1, "PUT": 1}

    assert second.refresh_token != first.refresh_token
    assert refreshed(world, first.refresh_token) == second
    enter(world, second.access_token)
    enter(world, first.access_token)
    world.clock.move(61)
    world.new_process()
    with pytest.raises(Unauthenticated):
        enter(world, first.access_token)
    enter(world, second.access_token)


def test_forty_refreshes_at_once_get_one_answer():
    world = world_with()
    first = signed_in(world)

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(lambda _: refreshed(world, first.refresh_token), range(40)))

    assert len(answers) == 1
    enter(world, answers.pop().access_token)


def test_a_refresh_token_from_before_ends_the_grant():
    world = world_with()
    first = signed_in(world)
    second = refreshed(world, first.refresh_token)
    world.clock.move(61)

    with pytest.raises(Refused):
        refreshed(world, first.refresh_token)
    with pytest.raises(Refused):
        refreshed(world, second.refresh_token)


def late(world: World, verb: str, seconds: float, action: Any) -> None:
    """Before its first request of this kind, a request stands still for so long, and others do something at the end."""

    def stop(_: int, sent: str) -> None:
        if sent == verb:
            world.client.before = lambda index, verb: None
            world.clock.move(seconds)
            action(world)

    world.client.before = stop


@each("verb", ["GET", "PUT"])
@each("times", [2, 3, 5])
def test_a_refresh_that_is_slower_than_its_own_repeat_and_the_next_refreshes_ends_nothing(verb, times):
    world = world_with()
    first = signed_in(world)
    newest = [first]

    def others(world):
        for _ in range(times):
            newest.append(refreshed(world, newest[-1].refresh_token))

    late(world, verb, 25, others)
    with pytest.raises(Refused, match="Sign in again"):
        refreshed(world, first.refresh_token)

    world.new_process()
    enter(world, newest[-1].access_token)
    refreshed(world, newest[-1].refresh_token)


def test_a_refresh_that_found_its_token_valid_ends_nothing_whatever_the_clocks_of_others_say():
    world = world_with()
    first = signed_in(world)
    newest = []

    def others(world):
        world.clock.move(-2)
        second = refreshed(world, first.refresh_token)
        newest.append(refreshed(world, second.refresh_token))
        world.clock.move(2)

    late(world, "PUT", 0, others)
    with pytest.raises(Refused):
        refreshed(world, first.refresh_token)

    world.new_process()
    enter(world, newest[0].access_token)


def test_a_refresh_that_is_slower_than_its_own_repeat_gets_the_same_answer():
    world = world_with()
    first = signed_in(world)
    answers = []

    late(world, "PUT", 25, lambda world: answers.append(refreshed(world, first.refresh_token)))
    answers.append(refreshed(world, first.refresh_token))

    assert answers[0] == answers[1]


@each("seconds", [0, 0.002, 25])
def test_a_stolen_refresh_token_still_ends_the_grant_however_soon_it_comes(seconds):
    world = world_with()
    first = signed_in(world)
    newest = refreshed(world, refreshed(world, first.refresh_token).refresh_token)
    world.clock.move(seconds)

    with pytest.raises(Refused):
        refreshed(world, first.refresh_token)

    world.new_process()
    with pytest.raises(Unauthenticated):
        enter(world, newest.access_token)


def test_a_thief_who_is_slower_than_the_client_gets_nothing_and_ends_the_grant_with_the_next_try():
    world = world_with()
    first = signed_in(world)
    newest = [first]

    def client(world):
        newest.extend([refreshed(world, first.refresh_token)])
        newest.extend([refreshed(world, newest[-1].refresh_token)])

    late(world, "GET", 25, client)
    for _ in range(2):
        with pytest.raises(Refused):
            refreshed(world, first.refresh_token)

    world.new_process()
    with pytest.raises(Unauthenticated):
        enter(world, newest[-1].access_token)


@pytest.mark.parametrize("verb", ["GET", "PUT"])
def test_a_code_that_is_slower_than_its_own_repeat_ends_nothing(verb):
    world = world_with()
    coded(world)
    answers = []

    late(world, verb, 25, lambda world: answers.append(redeemed(world)))
    with pytest.raises(Refused):
        redeemed(world)

    world.new_process()
    enter(world, answers[0].access_token)


def test_a_guess_ends_no_grant():
    world = world_with()
    first = signed_in(world)

    for guess in (first.refresh_token[:-1] + "!", first.refresh_token[:-20] + "A" * 20, first.access_token):
        with pytest.raises(Refused):
            refreshed(world, guess)
        exchange.revoke(world.process, guess.replace("lma_", "lmx_"))

    assert refreshed(world, first.refresh_token).seconds == 24 * 3600


@pytest.mark.parametrize(
    ("case", "which"), [("the access token", "access_token"), ("the refresh token", "refresh_token")]
)
def test_a_client_ends_its_grant_with(case, which):
    world = world_with()
    issued = signed_in(world)

    exchange.revoke(world.process, getattr(issued, which))

    world.new_process()
    with pytest.raises(Unauthenticated):
        enter(world, issued.access_token)
    with pytest.raises(Refused):
        refreshed(world, issued.refresh_token)


def test_a_process_that_has_let_a_client_in_does_so_for_half_a_minute_after_its_end():
    world = world_with()
    issued = signed_in(world)
    enter(world, issued.access_token)

    exchange.revoke(world.process, issued.refresh_token)
    world.clock.move(29)
    enter(world, issued.access_token)

    world.clock.move(1)
    with pytest.raises(Unauthenticated):
        enter(world, issued.access_token)


def test_a_grant_that_nobody_refreshes_ends():
    world = world_with()
    issued = signed_in(world)
    world.clock.move(24 * 3600 + 1)
    with pytest.raises(Unauthenticated):
        enter(world, issued.access_token)

    world.clock.move(90 * 24 * 3600)
    with pytest.raises(Refused):
        refreshed(world, issued.refresh_token)


def test_no_token_code_or_ticket_is_in_the_bucket():
    world = world_with()
    first = signed_in(world)
    second = refreshed(world, first.refresh_token)

    everything = "".join(f"{key} {world.text(key)}" for key in world.keys(OAUTH))
    for issued in (first, second):
        assert issued.access_token[-40:] not in everything
        assert issued.refresh_token[-60:] not in everything
    assert SECRET not in everything
    assert "ticketcode" not in everything


def test_the_bootstrap_key_signs_nobody_in():
    world = world_with()

    with pytest.raises(Forbidden):
        consent.show_token(world.process, wanted(), "nonce", BOOTSTRAP_KEY, "ticket")


@each(
    ("case", "changes", "error"),
    [
        ("more spaces", {"space_ids": ["third"]}, Forbidden),
        ("admin", {"scope": ["admin"]}, Forbidden),
        ("nothing", {"scope": []}, Forbidden),
        ("another browser", {"nonce": "other"}, Unauthenticated),
        ("another ticket", {"ticket": "other"}, Unauthenticated),
    ],
)
def test_a_person_can_not_allow(case, changes, error):
    world = world_with()
    consent.show_token(world.process, wanted(), "nonce", SECRET, "ticket")
    usual = {"nonce": "nonce", "ticket": "ticket", "scope": ["read"], "space_ids": ["demo"], "code": "code"}

    with pytest.raises(error):
        consent.approve(world.process, wanted(), **{**usual, **changes})


@each(
    ("case", "uri"),
    [
        ("a subdomain", "https://x.claude.ai/api/mcp/auth_callback"),
        ("a longer path", CALLBACK + "/x"),
        ("a port", "https://claude.ai:444/api/mcp/auth_callback"),
        ("a user", "https://claude.ai@evil.example/api/mcp/auth_callback"),
        ("a fragment", CALLBACK + "#x"),
        ("a query", CALLBACK + "?x=1"),
        ("another case", CALLBACK.replace("claude", "Claude")),
        ("a letter that looks alike", CALLBACK.replace("a", "\u0430")),
        ("http", CALLBACK.replace("https", "http")),
        ("nothing", ""),
    ],
)
def test_nobody_is_redirected_to(case, uri):
    with pytest.raises(Refused):
        consent.check_client(world_with().process, asked(redirect_uri=uri))


@each(
    ("case", "uri"),
    [
        ("script", "javascript://x/%0aalert(1)"),
        ("data", "data://text/html,x"),
        ("http elsewhere", "http://example.org/x"),
        ("a loopback that is none", "http://127.0.0.1.example.org/x"),
        ("a user", "https://a@b.example/"),
        ("a fragment", "https://b.example/#x"),
        ("blanks", "https://b.example/ x"),
        ("a header", "https://b.example/\r\nx"),
        ("Windows' settings", "ms-settings://defaultapps"),
        ("a search of Windows", "search-ms://query=x&crumb=location:evil"),
        ("the source of a page", "view-source://https://b.example/"),
        ("an installer", "ms-appinstaller://?source=https://b.example/x"),
        ("settings of macOS", "x-apple.systempreferences://com.apple.preference.security"),
        ("a shell", "ssh://b.example/x"),
        ("a shop", "itms-services://?action=download-manifest&url=https://b.example/x"),
        ("a browser's own page", "chrome://settings"),
        ("an intent", "intent://b.example/#Intent;scheme=http;end"),
        ("a wallet", "bitcoin://x"),
        ("an unknown app without a domain", "someapp://callback"),
        ("a part of Windows", "microsoft.windows.camera://x"),
        ("a part of macOS", "com.apple.systempreferences:/x"),
        ("a file in an editor", "vscode://file/etc/passwd"),
        ("settings of an editor", "cursor://settings/x"),
        ("a tab of a terminal", "warp://action/new_tab"),
        ("a host that only begins like a client's", "warp://mcp.evil/x"),
        ("capitals", "CURSOR://anysphere.cursor-mcp/oauth/callback"),
        ("a user of an app", "com.example.app://u@host/callback"),
        ("a dot at the end of a scheme", "com.:/callback"),
    ],
)
def test_no_client_registers(case, uri):
    with pytest.raises(Refused):
        consent.register({"redirect_uris": [uri]})


def test_of_a_loopback_address_any_port_will_do():
    client = consent.register({"redirect_uris": ["http://127.0.0.1:33418/", "cursor://anysphere.cursor-mcp/oauth"]})

    assert client.may_redirect("http://127.0.0.1:5/")
    assert client.may_redirect("cursor://anysphere.cursor-mcp/oauth")
    assert not client.may_redirect("http://localhost:33418/")
    assert not client.may_redirect("http://127.0.0.1:5/x")
    assert not client.may_redirect("http://u@127.0.0.1:5/")


@each(
    ("name", "registered", "used"),
    [
        ("claude.ai", ["https://claude.ai/api/mcp/auth_callback"], "https://claude.ai/api/mcp/auth_callback"),
        ("claude.com", ["https://claude.com/api/mcp/auth_callback"], "https://claude.com/api/mcp/auth_callback"),
        (
            "ChatGPT",
            ["https://chatgpt.com/connector_platform_oauth_redirect"],
            "https://chatgpt.com/connector_platform_oauth_redirect",
        ),
        (
            "VS Code",
            [
                *("https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect"),
                *("http://localhost/", "http://127.0.0.1/", "http://localhost:33418/", "http://127.0.0.1:33418/"),
            ],
            "http://127.0.0.1:33418",
        ),
        (
            "Cursor",
            ["cursor://anysphere.cursor-mcp/oauth/callback"],
            "cursor://anysphere.cursor-mcp/oauth/callback",
        ),
        ("Claude Code", ["http://localhost:54545/callback"], "http://localhost:3118/callback"),
        (
            "Cline",
            ["vscode://saoudrizwan.claude-dev/mcp-auth/callback/5f2a", "vscode-insiders://x.claude-dev/cb"],
            "vscode://saoudrizwan.claude-dev/mcp-auth/callback/5f2a",
        ),
        ("Kiro", ["kiro://kiro.kiroAgent/authenticate-success"], "kiro://kiro.kiroAgent/authenticate-success"),
        ("Windsurf", ["windsurf://codeium.windsurf"], "windsurf://codeium.windsurf"),
        ("Warp", ["warp://mcp/oauth2callback?server=7"], "warp://mcp/oauth2callback?server=7"),
        ("Raycast", ["com.raycast:/oauth?package_name=memory"], "com.raycast:/oauth?package_name=memory"),
        ("an app", ["org.example.my-app://callback/x"], "org.example.my-app://callback/x"),
    ],
)
def test_the_addresses_of_known_clients_are_theirs(name, registered, used):
    client = consent.register({"client_name": name, "redirect_uris": registered})

    assert consent.find(world_with().process, client.client_id).may_redirect(used)


def test_a_registration_is_its_own_id_and_is_nowhere_stored():
    world = world_with()
    world.client.reset()
    assert consent.find(world.process, CLIENT.client_id) == CLIENT
    for other in ("", "lmc_", "lmc_!!!", CLIENT.client_id + "=", CLIENT.client_id[:-1], "http://x.example/c.json"):
        with pytest.raises(Refused):
            consent.find(world.process, other)
    assert world.client.requests == []


@each(
    ("case", "changes"),
    [
        ("plain PKCE", {"code_challenge_method": "plain"}),
        ("no PKCE", {"code_challenge": ""}),
        ("an implicit grant", {"response_type": "token"}),
        ("admin alone", {"scope": "admin"}),
        ("another resource", {"resource": "https://evil.example/mcp"}),
    ],
)
def test_a_request_is_refused_for(case, changes):
    with pytest.raises(Refused):
        wanted(**changes)


def test_a_resource_may_have_a_query():
    assert wanted(resource=f"{RESOURCE}?space=demo").resource == RESOURCE


@each("done", [False, True])
@each("point", range(3))
def test_a_code_makes_one_grant_at_most_wherever_the_process_ends(point, done):
    world = world_with()
    coded(world)
    world.client.reset()
    world.client.kill_at(point, done=done)
    with pytest.raises(Killed):
        redeemed(world)
    world.new_process()

    with suppress(Refused):
        enter(world, redeemed(world).access_token)

    with pytest.raises(Refused):
        redeemed(world)
    grants = [Grant.from_bytes(world.text(key).encode()) for key in world.keys(GRANT.prefix())]
    assert all(grant.revoked for grant in grants)
    assert len(grants) == 1


@each("done", [False, True])
@each("point", range(2))
def test_a_refresh_that_was_cut_off_is_sent_again_and_no_grant_is_lost(point, done):
    world = world_with()
    first = signed_in(world)
    world.client.reset()
    world.client.kill_at(point, done=done)
    with pytest.raises(Killed):
        refreshed(world, first.refresh_token)
    world.new_process()

    second = refreshed(world, first.refresh_token)

    assert enter(world, second.access_token).name == "ann"
    assert refreshed(world, second.refresh_token).refresh_token != second.refresh_token
