"""What looks like a secret is replaced by its kind, all else stays, and no text is slow or raises."""

import base64
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livemem.text import redaction
from livemem.text.redaction import KINDS, Redaction, header_secrets, named_secrets, redact
from tests.support import leaks
from tests.support.cases import each

HEX = "0123456789abcdef"
MIXED = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
KEY_LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"


def redacted(text: str) -> str:
    return redact(text)[0]


@pytest.mark.parametrize("place", leaks.PLACES)
@given(data=st.data())
def test_a_secret_is_replaced_by_its_kind_and_what_stands_around_it_stays(place: str, data: st.DataObject):
    kind = data.draw(st.sampled_from(sorted(leaks.TOKENS)))
    secret = data.draw(leaks.TOKENS[kind])

    out, found = redact(place.format(secret))

    assert out == place.format(f"[redacted:{kind}]")
    assert found == {kind: 1}


@pytest.mark.parametrize("place", leaks.NAMED_PLACES)
@given(name=leaks.AWS_NAMES, secret=leaks.AWS_SECRET)
def test_a_secret_key_of_aws_is_known_by_its_name(place: str, name: str, secret: str):
    assert redact(place.format(name, secret)) == (place.format(name, "[redacted:aws]"), {"aws": 1})


@each(
    "place",
    [
        "export AWS_SECRET_ACCESS_KEY={}\n",
        "aws configure set aws_secret_access_key {}",
        "<SecretAccessKey>{}</SecretAccessKey>",
        "The secret access key of ci is {}.",
        "Secret access key:\n{}\n",
        "secret_access_key\\n{}\\n",
    ],
)
def test_a_secret_access_key_needs_no_quotes(place: str):
    assert redacted(place.format(MIXED)) == place.format("[redacted:aws]")


@pytest.mark.parametrize("place", leaks.PASSWORD_PLACES)
@given(secret=leaks.PASSWORD)
def test_a_password_is_known_by_its_name_or_its_place_in_a_url(place: str, secret: str):
    mark = "[redacted:password]" if len(secret) >= 19 else "***"
    assert redact(place.format(secret)) == (place.format(mark), {"password": 1})


@each(
    ("text", "mark"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer ***"),
        ('curl -H "Authorization: Bearer abc123def456ghi789"', 'curl -H "Authorization: Bearer [redacted:bearer]"'),
        ("authorization: Basic dXNlcjpwYXNzd29yZDE=", "authorization: Basic [redacted:bearer]"),
        ("PASSWORD=swordfish", "PASSWORD=***"),
        ('PASSWORD="correct horse battery staple"', 'PASSWORD="[redacted:password]"'),
        ('"password": "swordfish"', '"password": "***"'),
        ("password: str = 'tiger77'", "password: str = '***'"),
        ('os.environ["PASSWORD"] = "tiger77"', 'os.environ["PASSWORD"] = "***"'),
        ("API_KEY=abc123", "API_KEY=***"),
        ("export DB_PASS=swordfish", "export DB_PASS=***"),
        ("TESTS_PASS=true", "TESTS_PASS=true"),
        ("FIRST_PASS: swordfish", "FIRST_PASS: swordfish"),
        (
            "https://a.blob.core.windows.net/c?sv=1&sig=" + "aB3%2F" * 11,
            "https://a.blob.core.windows.net/c?sv=1&sig=[redacted:api-key]",
        ),
        ("api_key: 9f8e7d6c5b4a3f2e", "api_key: ***"),
        ("https://api.example.org/?token=abc12345&page=2", "https://api.example.org/?token=***&page=2"),
        ("clé d'accès, access key : Kx7pqz99aa", "clé d'accès, access key : ***"),
        ("https://user:pa:ss@w@host/", "https://user:***@host/"),
        ("AccountKey=" + "aB3+" * 21 + "aB==;EndpointSuffix=x", "AccountKey=[redacted:password];EndpointSuffix=x"),
        ("SECRET_KEY_BASE=" + "0f" * 64, "SECRET_KEY_BASE=[redacted:password]"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text: str, mark: str):
    assert redacted(text) == mark


def test_of_a_json_value_texts_names_and_what_is_a_secret_by_its_name_are_redacted():
    one, two = "ghp_" + "a1" * 18, "ghp_" + "b2" * 18
    given_to_a_tool = {"env": [{"PASSWORD": "swordfish", "n": 1}], one: f"x {one}", two: None, "password": "required"}
    redaction = Redaction()

    assert redaction.value(given_to_a_tool) == {
        "env": [{"PASSWORD": "***", "n": 1}],
        "[redacted:github]": "x [redacted:github]",
        "[redacted:github] 2": None,
        "password": "required",
    }
    assert redaction.counted() == {"github": 3, "password": 1}


@pytest.mark.parametrize("prefix", ["", "> ", "    ", "| "])
@given(key=leaks.PRIVATE_KEY)
def test_a_private_key_is_replaced_from_its_first_line_to_its_last(prefix: str, key: str):
    text = f"Before.\n{key}\nAfter.".replace("\n", f"\n{prefix}")

    assert redact(text) == (f"Before.\n{prefix}[redacted:private-key]\n{prefix}After.", {"private-key": 1})


@given(key=leaks.PRIVATE_KEY)
def test_a_private_key_within_a_string_is_replaced(key: str):
    escaped = key.replace("\n", "\\n")

    assert (
        redacted(f'{{"private_key": "{escaped}\\n", "x": 1}}') == '{"private_key": "[redacted:private-key]\\n", "x": 1}'
    )


@each("line_break", ["\n", "\r\n", "\n  ", "\n> ", "\\n", '" +\n  "', " "])
def test_a_private_key_that_was_cut_off_is_replaced_as_far_as_its_lines_go(line_break: str):
    text = line_break.join([BEGIN, "Proc-Type: 4,ENCRYPTED", KEY_LINE, KEY_LINE, "And then it stops."])

    assert redacted(text) == f"[redacted:private-key]{line_break}And then it stops."


def test_a_private_key_that_lost_its_line_breaks_is_replaced():
    assert redacted(f"{BEGIN}{KEY_LINE}{KEY_LINE}{END} x") == "[redacted:private-key] x"
    assert redacted(f"{BEGIN}{KEY_LINE}{KEY_LINE}... x") == "[redacted:private-key]... x"


def test_two_private_keys_are_two_and_what_stands_between_them_stays():
    text = f"{BEGIN}\n{KEY_LINE}\n{END}\nbetween\n{BEGIN}\n{KEY_LINE}\n{END}"

    assert redact(text) == ("[redacted:private-key]\nbetween\n[redacted:private-key]", {"private-key": 2})


def test_a_key_without_an_end_does_not_take_the_text_up_to_the_end_of_the_next_one():
    text = f"{BEGIN}\nprose\n{BEGIN}\n{KEY_LINE}\n{END}"

    assert redacted(text) == f"{BEGIN}\nprose\n[redacted:private-key]"


def test_secrets_of_several_kinds_are_counted_by_kind():
    github, token = "ghp_" + "a1" * 18, "lm_" + "b2" * 21 + "c"

    out, found = redact(f"{github} {token} {github}")

    assert out == "[redacted:github] [redacted:token] [redacted:github]"
    assert found == {"github": 2, "token": 1}


@each(
    "secret",
    [
        "xapp-1-A0" + "B1C2D3E4F-1234567890123-" + "a1b2" * 16,
        "xoxe.xoxp-1-" + "Mi0yLTk3" * 12,
        "xoxd-" + "aB3%2F" * 12,
        "https:\\/\\/hooks.slack.com\\/services\\/T00000000\\/B00000000\\/" + "aB3d" * 6,
        "https://hooks.slack.com/workflows/T00000000/A00000000/123456789/" + "aB3d" * 6,
        "sk-" + "0a1b" * 8,
        "sk-svcacct-" + "aB3_-d" * 10,
        "sk-ant-api03-" + "aB-3d_" * 10,
        "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..aB3daB3d.aB3daB3daB3d.aB3daB3d",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.",
    ],
)
def test_other_forms_of_the_same_kinds_are_known(secret: str):
    assert not {secret, secret[6:-6]} & {redacted(secret), redacted(f"x {secret} y")[2:-2]}
    assert "[redacted:" in redacted(secret)
    assert len(redacted(secret)) < 30


NO_SECRETS = [
    "We use sk-learn 1.5 and scikit-learn; see sk-learn-compatible-estimators-of-2024-and-later.",
    "A risk-based-assessment-of-something-very-long-indeed-12345678901234567890 and task-12345678901234567890abcdef.",
    "sk-123e4567-e89b-12d3-a456-426614174000",
    "commit 247651a5bb8d1d4cbd0c47b0ff99a05f82100fab4 of aws key rotation: '" + HEX * 2 + "01234567'",
    "aws_secret_access_key is in /etc/some/path/to/secrets/of/production/x",
    "123e4567-e89b-12d3-a456-426614174000 550E8400-E29B-41D4-A716-446655440000",
    "01KHXA0B7C9D2E4F6G8H0J2K4M ASIA01KHXA0B7C9D2E4F6G8H0J",
    "20260220T140000_cline-dev_decision_1a2b3c4d and [n3], [n12].",
    "sha256:" + HEX * 4,
    "![x](data:image/png;base64," + base64.b64encode(random.Random(10).randbytes(9_000)).decode() + ").",
    "The cursor is eyJhZnRlciI6IngifQ. Then comes eyJhZnRlciI6IngifQ, and `eyJ`.",
    "ghp_ gho_short github_pat_short xoxb-123-short xoxo-hugs-and-kisses-to-everyone-in-2024 lm_short AKIASHORT",
    "lm_head_projection_weights lm_" + "a" * 50,
    "Look for `-----BEGIN PRIVATE KEY-----` at the beginning of the file.",
    "-----BEGIN CERTIFICATE-----\n" + KEY_LINE + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + KEY_LINE + "\n-----END PUBLIC KEY-----",
    "https://hooks.slack.com/services/ is where webhooks live; https://api.slack.com/methods/chat.postMessage",
    "[redacted:github] [redacted:private-key] [redacted:<kind>] [redacted:aws]",
    "LLMAAS_API_KEY=sk-... is what you set; ADMIN_BOOTSTRAP_KEY has 32 characters.",
    # Documents and schemas
    "password: required",
    "Password: minimum 8 characters, at most 64",
    '"password": "string", "token": "refresh", "secret": "required"',
    '"password": "Must be at least 8 characters"',
    "| password | string | required |\n| token | 256 random bits |",
    "`token: string` and `password?: string;` and token: Uint8Array, secret: sha256",
    "API keys: see docs/api.md. Bearer tokens (RFC 6750) are sent. Bearer lm_...",
    "Secrets: 3 ways to keep them. Password: unchanged since 2024. Token: expired",
    'label: "Password", placeholder_password: "password", type="password">',
    # Code
    "token = get_token()\npassword=password\nlogin(user=user, password=settings.password)",
    'token = os.environ["TOKEN2X"]; secret = config.secrets["db1"]; password := readline()',
    "def connect(password: str, token: Optional[str] = None, api_key: SecretStr) -> None: ...",
    'if password == "" or token is None: raise ValueError("password: missing")',
    'headers = {"Authorization": f"Bearer {token}"}; curl -H "Authorization: Bearer $TOKEN1"',
    # Settings without their values
    "TOKEN=$(cat .local/admin.key) PASSWORD=${DB_PASSWORD1} PASSWORD=changeme API_KEY=your-api-key-here",
    "password: <your password>\ntoken: ${{ secrets.GITHUB_TOKEN }}\npassword: !vault |\npassword: '***'",
    "PASSWORD_FILE=/run/secrets/db1 TOKEN_TTL=3600 SECRET_NAME=prod/db1 password: /run/secrets/db1",
    "LLM_DAILY_TOKEN_BUDGET=2000000 max_tokens: 100000 tokens: 12345678 REDACT_SECRETS=true",
    "secret: arn:aws:secretsmanager:eu-west-1:123456789012:secret:db1",
    # URLs without credentials
    "https://example.org:8443/a@b http://localhost:3000/v1?x=me@example.org ssh://git@github.com:22/x",
    "git@github.com:org/repo1.git postgres://db.example.org:5432/app postgres://app:${PASSWORD}@db/app",
    # French
    "Le mot de passe : il faut le changer avant 2027. Mot de passe : 8 caractères minimum",
    "mot de passe : obligatoire\nLe secret : 1000 heures de travail. Mot de passe oublié ?",
    # Hashes and ids by other names
    "key: 247651a5bb8d cache_key: 5d41402abc4b2a76b9719d911017c592 ETag: 5d41402abc4b2a76b9719d911017c592",
    "Idempotency-Key: job-17-step-3 idempotency-key-5d41402abc4b2a76b9719d911017c592",
    "commit 247651a5bb8d1d4cbd0c47b0ff99a05f82100fab parent: 8717e82 revision=56f475c",
]


@each("text", NO_SECRETS)
def test_what_is_no_secret_stays(text: str):
    assert redact(text) == (text, {})


FRAGMENTS = """----- BEGIN END PRIVATE KEY \\n \\ % %2F sk- xoxb-1- xoxd- eyJ . .. _ - / lm_ ghp_ AKIA aws key ' " = :
a1 A0 secret_access_key PuTTY-User-Key-File-2: Private-MAC: hooks.slack.com/services sk-proj- eyJhbGciOiJub25lIn0
12345678901234567890 [redacted: [redacted:aws] [redacted:private-key] PASSWORD= password: token= password: "password":
curl mysql sshpass docker login -u -p -H -b Cookie: Set-Cookie: sid= a1b2c3d4 hunter2hunter2 is pour X-Api-Key: ` ;
name:secret1
Bearer authorization: ://user: @ *** hunter2 glpat- secret_access_key= 8Q~ mdp: { } , ; & ) --token""".split()
PIECES = st.one_of(
    st.sampled_from(FRAGMENTS),
    st.sampled_from([BEGIN, END, KEY_LINE, MIXED, "aws_secret_access_key='", "\nPuTTY-User-Key-File-2: x", "\n", " "]),
    st.one_of(*leaks.TOKENS.values()),
    leaks.PRIVATE_KEY,
    st.text(st.characters(exclude_categories=()), max_size=10),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS, st.sampled_from([str, str.upper, str.lower, str.swapcase]))
def test_a_text_without_a_hint_of_a_kind_has_no_secret_of_that_kind(text: str, spelled: Callable[[str], str]):
    text = spelled(text)
    for rule in redaction._rules():
        if not rule.may_be_in(text):
            assert not named_secrets.compiled(f"(?a){rule.source}").search(text)
    if "cook" not in text.lower():
        assert not named_secrets.compiled(header_secrets._COOKIE).search(text)
    if not any(word in text.lower() for word in header_secrets._WORDS):
        assert not named_secrets.compiled(header_secrets._KEYED).search(text)


def test_a_text_without_any_hint_has_no_pattern_compiled_for_it():
    named_secrets.compiled.cache_clear()
    redact("The timetable of forge.example.org/ferry/timetable has three columns.")
    assert named_secrets.compiled.cache_info().currsize == 0
    redact("The private key lies in /etc.")
    assert named_secrets.compiled.cache_info().currsize > 0


@given(TEXTS)
def test_any_text_is_redacted_once_and_for_all_and_never_grows(text: str):
    out, found = redact(text)

    assert redact(out) == (out, {})
    assert len(out) <= len(text)
    assert len(out.encode("utf-8", "surrogatepass")) <= len(text.encode("utf-8", "surrogatepass"))
    assert set(found) <= set(KINDS)
    assert (out != text) == (found.total() > 0)


@pytest.mark.slow
@each(
    "unit",
    [
        "sk-", "sk-a", "eyJ", "eyJ-", "eyJ.", "eyJ.eyJ.", "eyJhbGciOiJIUzI1-", "eyJhbGciOiJIUzI1NiJ9.", "xoxb-",
        "xoxb-1", "xoxd-", "AKIA", "AKIA-", "lm_", "lm_-", "ghp_", "github_pat_", "hooks.slack.com/services/T/",
        "https://", "\\", "\\n", "%2F", "aws_secret_access_key=", "secretkey", "aws", "awskey", "awskey'",
        "aws key '" + "a" * 39, "a", "A", "0", "-", "----- ", "-----BEGIN ", "-----BEGIN A A A ", BEGIN, BEGIN + "\n",
        f"{BEGIN}\nProc-Type: x\n", f"{BEGIN}\n{KEY_LINE}", END, "\nPuTTY-User-Key-File-2: x\n", "\nPrivate-MAC: ",
        "P", "[", " ", "\n", "[redacted:private-key]", "\U0001f511",
        "password", "password=", "password: ", 'password="', "password='a\"", "token:", "token: a1", "PASSWORD=a1 ",
        "password: str", "password  ", "mdp", "mot de passe", "://", "://a:", "://a:b@", "://a:b", "@", "Bearer ",
        "Bearer a1.", "authorization: basic ", "glpat-", "SG.", "SG.a", "8Q~", "a8Q~", ":AA", "1:AA", "sl.", "hf_",
        "password=a.", "password=a(", "password=" + "a1" * 40, "secret_", "pat", "--token ", "password\\\\\"",
        "curl ", "curl -u ", "curl -u a:b1 ", "curl -u 'a:", "curl \\\n", 'curl -b "a=b;', "mysql -p", "docker login ",
        "-p ", "--password=", "Cookie: ", "Cookie: a=b1;", "Cookie: a", "cookie=", "a=bcdef1; ", "X-Api-Key: ", "x-a-",
        "X-Api-Key: a1b2c3 ", "-H ", "pa-", "AQ.", "re_", "1//0", ".atlasv1.", "JQQJ9",
        "curl\", \"-u\", \"", "\", \"", "[\"curl\",",
        "password for a ", "password for a.b ", "password is ", "password is a1b2 ", "mot de passe, c'est ",
        "://a:abcdefgh1@h abcdefgh1 ",
    ],
)  # fmt: skip
def test_a_hostile_note_is_read_in_one_go(unit: str):
    # A search that goes back again and again does not end within minutes (times: benchmarks/redaction.py).
    for beginning in ("", BEGIN):
        text = (beginning + unit * 4_000)[:4_000]
        assert len(redacted(text)) <= len(text)
