"""Secrets made up for tests from alphabets: none stands in this repository as a whole, where scanners would find it."""

import base64
import json

from hypothesis import strategies as st

UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER = UPPER.lower()
DIGITS = "0123456789"
WORD = UPPER + LOWER + DIGITS


def characters(alphabet: str, least: int, most: int | None = None) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=least if most is None else most)


def joined(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The parts one behind the other."""
    fixed = [st.just(part) if isinstance(part, str) else part for part in parts]
    return st.tuples(*fixed).map("".join)


def _part(claims: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")


def _block(
    label: str, begin: str = "-----BEGIN ", end: str = "-----END ", tail: str = "-----"
) -> st.SearchStrategy[str]:
    lines = st.lists(characters(WORD + "+/", 64), min_size=1, max_size=5).map("\n".join)
    return joined(f"{begin}{label}{tail}\n", lines, "\n", characters(WORD + "+/", 0, 60), f"=\n{end}{label}{tail}")


LABELS = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
PUTTY = joined(
    "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 1\n",
    characters(WORD + "+/", 64),
    "\nPrivate-MAC: ",
    characters(DIGITS + "abcdef", 40),
)
PRIVATE_KEY = st.one_of(
    st.sampled_from(LABELS).flatmap(_block),
    _block("SSH2 ENCRYPTED PRIVATE KEY", "---- BEGIN ", "---- END ", " ----"),
    PUTTY,
)
AWS_ID = joined(st.sampled_from(["AKIA", "ASIA", "ABIA", "ACCA", "A3TX"]), characters(UPPER + DIGITS, 16))
AWS_SECRET = joined("wJ", characters(WORD + "/+", 38))
AWS_NAMES = st.sampled_from(
    ["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "awsSecretAccessKey", "aws-secret-key", "AWS access token"]
)
GITHUB = joined(st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]), characters(WORD, 36))
GITHUB_PAT = joined("github_pat_", characters(WORD, 22), "_", characters(WORD, 59))
OPENAI = joined(
    st.sampled_from(["sk-", "sk-proj-", "sk-svcacct-", "sk-my-team-"]),
    characters(WORD + "_-", 0, 60),
    characters(WORD, 20),
    "T3BlbkFJ",
    characters(WORD, 20),
)
SLACK = joined(
    st.sampled_from(["xoxb-", "xoxp-", "xoxa-2-", "xoxr-", "xoxs-"]),
    characters(DIGITS, 10, 13),
    "-",
    characters(WORD, 24),
)
SLACK_HOOK = joined(
    "https://hooks.slack.com/services/T", characters(UPPER + DIGITS, 8), "/B", characters(UPPER + DIGITS, 8), "/",
    characters(WORD, 24),
)  # fmt: skip
TOKEN = joined("lm_", characters(WORD + "_-", 42), characters(WORD, 1))
JWT = joined(
    st.sampled_from([{"alg": "none"}, {"alg": "HS256", "typ": "JWT"}]).map(_part),
    ".",
    st.dictionaries(st.sampled_from(["sub", "iss", "aud"]), characters(WORD, 0, 20)).map(_part),
    ".",
    characters(WORD + "_-", 43),
)

PREFIXED = st.one_of(
    joined("glpat-", characters(WORD, 20)),
    joined("sk_live_", characters(WORD, 24)),
    joined("npm_", characters(WORD, 36)),
    joined("hf_", characters(UPPER + LOWER, 34)),
    joined("AIza", characters(WORD, 35)),
    joined("hvs.", characters(WORD, 24)),
    joined("napi_", characters(LOWER + DIGITS, 48)),
    joined("SK", characters(DIGITS + "abcdef", 32)),
    joined("dop_v1_", characters(DIGITS + "abcdef", 64)),
)

PASSWORD = joined(characters(LOWER, 3, 8), characters(DIGITS, 3, 5), characters(UPPER, 0, 20))
"""What is known by its name alone."""
PASSWORD_PLACES = [
    "PASSWORD={}",
    "export DB_PASSWORD='{}'\nmake run",
    "password: {}",
    "  password: {}  # of staging\n",
    '{{"user": "ann", "password": "{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    "Le mot de passe : {}, ne le dis à personne.",
    "- **Password**: `{}`",
    "<password>{}</password>",
    "mysql --password={} -h db",
    "mysql --password {} -h db",
    "postgres://app:{}@db.example.org:5432/app",
    "redis://:{}@localhost/0",
    'const dbPassword = "{}";',
    "| password | {} |",
    "mdp = {}",
]
"""Where people put them."""

TOKENS = {
    "api-key": PREFIXED,
    "aws": AWS_ID,
    "github": GITHUB | GITHUB_PAT,
    "jwt": JWT,
    "openai": OPENAI,
    "slack": SLACK | SLACK_HOOK,
    "token": TOKEN,
}
"""Secrets of one line that are known by their own form, by kind."""

PLACES = [
    "{}",
    "We deployed with {} yesterday.",
    "Größe: {}.",
    "> the key is `{}`, of course",
    'client = Client(key="{}", timeout=3)\n',
    "export KEY={}\nmake run\n",
    '{{"log": "first\\n{}\\nlast", "x": [1]}}',
    "https://example.org/path?key={}&page=2",
    "https://example.org/path?next=%2Flogin%3Fkey%3D{}%26page%3D2",
    "| name | key |\n|---|---|\n| ci | {} |\n",
    "<Key>{}</Key>",
    "- **key**: {}\n- [n3]",
]
"""Where people put them."""

NAMED_PLACES = [
    "{} = '{}'",
    '"{}": "{}",',
    "| {} | `{}` |",
    '{{\\"{}\\": \\"{}\\"}}',
]
"""Where people put a secret that is known by its name alone."""
