"""Secrets in command lines: `curl -u name:...`, `mysql -p...`, `sshpass -p ...`, `docker login -p ...`.

Which option takes a secret depends on the program: `-p` is a port for one and a password for another. So the programs
stand in a table. Their options with a name of their own (`--password=...`) are known there too, with any value that is
no placeholder. Elsewhere named_secrets.py judges them.

A command may also be a list of words, as JSON has it.

Time is linear: after the name of a program its words are read once, at most LINE characters, and not beyond the end of
the command.
"""

import re
from collections.abc import Iterator

from livemem.text.redaction import header_secrets, named_secrets
from livemem.text.redaction.named_secrets import compiled

LINE = 2_000
"""Characters of a command that are read."""
LEAST = 3
"""Fewest characters of a secret."""
_PAIRS = {
    "curl": ("-[A-Za-z]{0,8}[uU]|--user|--proxy-user", ":"),
    "https?|xhs?": ("-a|--auth", ":"),
    "smbclient|smbget|rpcclient": ("-U|--user", "%"),
    "lftp": ("-u|--user", ","),
}
"""Programs, the options with a user and a secret, and the sign between the two."""
_ATTACHED = {
    "mysql|mysql(?:dump|admin|import|check|show|slap|pump|sh)|mariadb(?:-[a-z]{1,10})?": "-p",
    "7z[arz]?|rar|unrar": "-p",
}
"""Programs, and the option that has its secret directly behind it. Before a blank it means: ask for it."""
_ALONE = {
    "sshpass|mongo(?:sh|dump|restore|export|import|stat|top)?": "-p",
    "(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm|oc|az|cf|faas-cli) login": "-p",
    "redis-cli|valkey-cli": "-a",
    "ldap(?:search|add|modify|delete|whoami|compare|passwd)": "-w",
    "sqlcmd|bcp|osql|mosquitto_(?:pub|sub)": "-P",
    "zip|unzip|zipcloak": "-P",
    "cqlsh": "-p",
    "keytool|jarsigner": "-(?:store|key|dest(?:store|key)|src(?:store|key)?)pass",
    "wget|svn|gpg|clickhouse-client|rabbitmqadmin|influx|ansible-vault|psql|pg_dump|java|rclone|restic": "(?!)",
}
"""Programs, and the option whose secret is the next word, or stands directly behind it."""
_LOGIN = " login"
_NAMED = r"(?i)--?[A-Za-z-]{0,20}(?:password|passwd|passphrase|pass)(?=[= ]|\Z)"
_NEXT = r"""\\{0,3}["'][ \t]{0,4},(?:\\n|\s){0,12}\\{0,3}["']"""
"""The text between two words of a list."""
_QUOTED_PART = r"""\\{0,3}"[^"\\\n]*+\\{0,3}"|\\{0,3}'[^'\\\n]*+\\{0,3}'"""
_TOKEN = rf"""(?xs)
    (?P<blank>[ \t]+|\\\r?\n|{_NEXT})
    | (?P<end>[\n`]|\\n|&&|\|\|?|;|\Z)
    | (?P<word>(?:(?!{_NEXT})(?:{_QUOTED_PART}|\\[^\n]|[^\s"'`|;&\\]|&(?!&)))+)
    | (?P<odd>.)
    """
_QUOTE = re.compile(r"""\\{0,3}["']""")
_QUOTE_AT_END = re.compile(r"""\\{0,3}["']\Z""")
_NO_SECRET = (
    named_secrets.ORDINARY - frozenset("secret admin test access same random hidden client".split())
) | frozenset(
    "and argument but flag flags for from option options parameter switch that then value when which with".split()
)
"""Words that stand behind such options and are no secret: placeholders, and those of a sentence about the option."""


_RULES = [
    *((names, option, sign, True) for names, (option, sign) in _PAIRS.items()),
    *((names, option, "", False) for names, option in _ATTACHED.items()),
    *((names, option, "", True) for names, option in _ALONE.items()),
]
_PROGRAM = (
    rf"(?<![\w.@-])(?P<name>{'|'.join(names.removesuffix(_LOGIN) for names, *_ in _RULES)})(?:\.exe)?"
    r"""(?=[ \t]|\\{0,3}["'][ \t]{0,4},)"""
)
_OPTION = re.compile(r"[ \t\"']--?[A-Za-z]")


def is_program(name: str) -> bool:
    """Whether it is the name of such a program, or the path of one."""
    return any(re.fullmatch(names.removesuffix(_LOGIN), name.rpartition("/")[2]) for names, *_ in _RULES)


def places(text: str) -> Iterator[tuple[int, int]]:
    """The places of secrets in command lines, from the first to the last."""
    at = 0 if _OPTION.search(text) else len(text)
    while at < len(text) and (match := compiled(_PROGRAM).search(text, at)):
        at = match.end()
        for start, end in _of_command(text, match):
            at = end
            if start < end:
                yield start, end


def _of_command(text: str, program: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The places of the secrets of one command. The last one is empty, where the command ends: at another one, too."""
    names, option, sign, apart = next(
        rule for rule in _RULES if re.fullmatch(rule[0].removesuffix(_LOGIN), program["name"])
    )
    has_login, option_name = not names.endswith(_LOGIN), ""
    end = min(len(text), program.end() + LINE)
    at = program.end()
    while at < end and (token := compiled(_TOKEN).match(text, at, end)) and token.lastgroup != "end":
        start, word = at, token[0]
        if token.lastgroup == "word" and not option_name and compiled(_PROGRAM).match(text, at):
            break
        at = token.end()
        if token.lastgroup != "word":
            continue
        if option_name and not word.startswith("-"):
            yield from _secret(text, start, at, option_name)
            option_name = ""
            continue
        option_name = ""
        has_login = has_login or word == "login"
        for pattern, kind in ((option, sign or "word"), (_NAMED, "word"), ("-b|--cookie", "cookie")):
            match = re.match(pattern, word) if has_login else None
            if not match or (kind == "cookie" and program["name"] != "curl"):
                continue
            rest = match.end() + word[match.end() :].startswith("=")
            if rest < len(word):
                yield from _secret(text, start + rest, at, kind)
            elif apart or pattern is not option:
                option_name = kind
            break
    yield at, at


def _secret(text: str, start: int, end: int, kind: str) -> Iterator[tuple[int, int]]:
    """The secret in a word, or in the part of a word, that an option takes."""
    quote = _QUOTE.match(text, start, end)
    if quote:
        start = quote.end()
        close = _QUOTE_AT_END.search(text, start, end)
        end = close.start() if close else end
    else:
        end = start + len(text[start:end].rstrip(".,:)]}>"))
    if kind == "cookie":
        yield from header_secrets.pairs(text, start, end)
        return
    if kind != "word":
        sign = text.find(kind, start, end)
        if sign < 0:
            return
        start = sign + 1
    value = text[start:end]
    if len(value) >= LEAST and named_secrets.is_own(value, placeholders=_NO_SECRET):
        yield start, end
