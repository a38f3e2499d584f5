"""Secrets made up for tests from alphabets: none stands in this repository as a whole, where scanners would find it."""

import base64
import json
from random import Random

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

HEX = DIGITS + "abcdef"
SAFE = WORD + "_-"
NEWER: dict[str, tuple[int, str]] = {
    "sk-ant-api03-": (95, SAFE), "sk-ant-oat01-": (95, SAFE), "sk-proj-": (120, SAFE), "sk-svcacct-": (120, SAFE),
    "sk-admin-": (60, SAFE), "sk-or-v1-": (64, HEX), "sk-": (32, HEX), "AIza": (35, SAFE), "AQ.": (50, SAFE),
    "gsk_": (52, WORD), "xai-": (80, WORD), "pplx-": (48, WORD), "hf_": (34, WORD), "r8_": (37, WORD),
    "fw_": (24, WORD), "csk-": (48, WORD), "tgp_v1_": (43, SAFE), "pa-": (43, SAFE), "sk_": (48, HEX),
    "jina_": (60, WORD), "llx-": (48, WORD), "m0-": (40, WORD), "fc-": (32, HEX), "e2b_": (40, HEX),
    "tvly-dev-": (32, WORD), "lin_api_": (40, WORD), "ntn_": (46, WORD), "github_pat_": (82, WORD),
    "glpat-": (20, WORD), "npm_": (36, WORD), "pypi-AgE": (150, SAFE), "vcp_": (56, WORD), "vck_": (56, WORD),
    "cfut_": (48, WORD), "cfat_": (48, WORD), "nfp_": (36, WORD), "sbp_": (40, HEX), "sb_secret_": (31, WORD),
    "sk_live_": (24, WORD), "dapi": (32, HEX), "dop_v1_": (64, HEX), "dp.pt.": (43, WORD), "sntrys_": (90, WORD),
    "pul-": (40, HEX), "key_": (64, HEX), "nvapi-": (64, SAFE), "LTAI": (20, WORD), "sess-": (40, WORD),
}  # fmt: skip
"""The beginnings of keys of newer providers, the length of the rest, and its alphabet."""


def provider_keys(chance: Random) -> dict[str, str]:
    """A key of each, by its beginning. Its end has a letter and a digit, as nearly every key has somewhere."""
    return {
        name: f"{name}{''.join(chance.choices(alphabet, k=length - 2))}{'1A' if alphabet != HEX else '1a'}"
        for name, (length, alphabet) in NEWER.items()
    }
