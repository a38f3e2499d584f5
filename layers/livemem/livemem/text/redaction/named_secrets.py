"""Secrets that are known by their name: `PASSWORD=...`, `"api_key": "..."`, `mot de passe : ...`, `--token ...`,
`my password for the database is ...`.

A name is cheap to find, and mostly no secret follows it: a type, a variable, a call, a word of a sentence. So each
value is judged. A password may be a word, but then it must stand in quotes, or behind a name in capitals. A token or a
key has digits. A plain word behind a colon stays, because `password: swordfish` looks like `password: required`.

Time is linear. A name and the separator before its value have bounded lengths. Of a value 100 characters are read
before it is judged. The search skips a secret as a whole.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache

READ = 100
"""Characters of a value by which it is judged."""
SHORTEST, SHORTEST_KEY, LEAST_KEY = 4, 6, 8
"""Fewest characters of a password, of a key behind a name in capitals, and of any other key."""
SHORT = 6
"""Characters of a name up to which it may be the end of another word."""
NAME_CHARACTERS = 60
_PASSWORDS = (
    r"pass(?:word|wd|phrase|code|wort)|pwd|kennwort|contrase(?:ñ|n)a|senha|mot[ _-]?de[ _-]?passe|mdp"
    r"|secret(?![ _-]?key)|(?-i:(?<=_)PASS(?=[ \t]{0,4}=)|SSHPASS(?=[ \t]{0,4}=)|(?<=REDISCLI_)AUTH(?=[ \t]{0,4}=))"
)
_KEYS = (
    r"(?:api|access|secret|private|signing|encryption|account|master|bootstrap|service|auth|shared)[ _-]?key"
    r"|tokens?|credentials?|jeton(?: d['’]acc[èe]s)?|cl[ée][ _-](?:d['’])?(?:api|acc[èe]s|secr[èe]te|priv[ée]e)"
    r"|(?-i:(?<=[\s/:]_)auth(?==))"
)
_BLANK = "[ \t\u00a0\u202f]{0,4}"
_CLOSING = r"""(?:\\{0,3}["'`]|[*\]]){0,3}"""
_ANNOTATION = rf"(?::{_BLANK}[A-Za-z][A-Za-z0-9_.|\[\]]{{0,30}}(?={_BLANK}=[ \t]*[^\s=]))?"
_VALUE = r"""(?:,|\r?\n|\\n|[ \t]){1,3}[ \t]{0,20}(?:\\{0,3}["'])?value(?:\\{0,3}["'])?[ \t]{0,4}[:=]"""
"""Of a pair such as `name: DB_PASSWORD`, `value: ...`."""
_NAME = (
    rf"(?P<known>(?i:(?P<password>{_PASSWORDS})|{_KEYS})"
    r"[0-9]{0,3}(?P<suffix>(?:_[A-Z0-9]{1,20}){0,4})(?![A-Za-z0-9_-]))"
)
_NAMED = (
    rf"{_NAME}{_CLOSING}{_BLANK}{_ANNOTATION}{_BLANK}"
    rf"(?P<sign>=>|:=|={{1,2}}|[:|]|(?<=[A-Za-z0-9])>(?! )|{_VALUE}|(?<= ))[*]{{0,2}}{_BLANK}"
)
_FOR = (
    r"(?: (?:for|of|to|on|at|in|from|there|here|pour|de|du|des|sur|à|au|aux|chez|dans|für|bei|zu|para|del)\b"
    r"(?:[^.!?;:\n\"`]|\.(?=[^\s.])){0,80}?)?"
)
_IS = (
    r"(?:,? c['’]est| (?:is|was|will be|has been|est|était|sera|a été|ist|war|lautet|es|é))"
    r"(?: (?:now|still|currently|again|maintenant|toujours|désormais|jetzt|noch|ahora))?"
    r"(?: (?:set|changed|reset|updated|changé|mis|remplacé|modifié)(?: back)? (?:to|en|à|par))?(?=[ :\u00a0\u202f])"
)
_SAID = (
    rf"(?<![A-Za-z])(?P<known>(?i:(?P<password>{_PASSWORDS.replace('|secret(?![ _-]?key)', '|(?<=client )secret|pw')})"
    rf"|{_KEYS}))(?P<suffix>)(?P<sign>{_FOR}{_IS}(?:{_BLANK}:)?){_BLANK}(?:[«“„‘]{_BLANK}|[*]{{0,2}})"
)
"""A sentence that says it: `my password for the database is ...`, `mon mot de passe est ...`."""
_STATED_NAMES = _PASSWORDS.replace("_-]?key)", "_-]?key)(?= is| est| ist)")
_STATED = (
    rf"(?<![A-Za-z])(?P<known>(?i:(?P<password>{_STATED_NAMES}|pw|identified(?: with [a-z0-9_]{{1,40}})? by)))"
    rf"(?P<suffix>)(?P<sign>(?:{_FOR}(?: (?:to|en)\b|{_IS}:?))?)(?: ?\(| ){_BLANK}(?=[^\s=:|>#-])"
)
"""A sentence or a command in which a password stands behind its name: `log in with the password ...`, `I set the
password to ...`, `IDENTIFIED BY '...'`."""
_NUMBERED = re.compile(r"[0-9]+(?:-[A-Za-z]+)+\Z|[A-Z]+(?:_[A-Z]+)+\Z")
"""What such a sentence says about a secret: `8-character`, `DB_PASSWORD`."""
_WORDS = (
    "pass pwd kennwort contrase senha mot mdp secret token credential jeton api access private signing encryption "
    "account master bootstrap service auth shared sshpass pw identified clé cle"
)
_BEGINNINGS = tuple(spelled for word in _WORDS.split() for spelled in (word, word.capitalize(), word.upper()))
_AT_END = rf"{_NAME}\Z"
_QUOTED = re.compile(
    r"""(?P<open>\\{0,3}["'`])(?P<value>(?:\\["'`\\]|(?!["'`\n]|\[redacted:)[\s\S]|(?!\n|(?P=open))["'`]){1,200}?)(?P=open)"""
)
# A mark is no part of a value.
_PLAIN = re.compile(r"""(?:(?!\[redacted:)[^\s"'`<>,;&|)\]}]){1,100}""")
_CAPITAL = re.compile(r"""(?:(?!\[redacted:)[^\s"'`<>]){1,100}""")
_REST = re.compile(r"""(?:(?!\[redacted:)[^\s"'`<>,;&|)\]}])*+""")
_END_OF_LINE = re.compile(r"""[ \t"'`,;.)]{0,4}(?:\r?\n|\\n|$)""")
_OPTION = re.compile(r"--[A-Za-z-]{0,30}\Z")

_VARIABLE = re.compile(r"\$[A-Za-z_({]|[{<]|%[(sd{]|!(?:Ref|Sub|GetAtt|vault|ENV)\b")
_REFERENCE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://|(?:arn|op|vault|env|file|data|ref):|(?:~|\.{0,2})/[\w.-]+(?:/|\Z)"
)
_CODE = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_][\w$]*)*[(\[]|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+\Z")
_TECHNICAL = (
    r"(?i)base(?:64|32|58)|sha-?(?:1|224|256|384|512)|[hre]s(?:256|384|512)|utf-?(?:8|16)|u?int(?:8|16|32|64)|md5"
    r"|oauth-?2|argon2|pbkdf2|ed25519|x509|aes-?(?:128|256)|rfc-?\d{4}|http/?[12]|ipv[46]|v\d(?:\.\d+)*|2fa|s3"
)
_ABOUT = frozenset(
    """AGE ALGORITHM ARN AT AUDIENCE BUDGET CHARACTERS COUNT DAYS ENABLED ENV EXPIRES EXPIRY FIELD FILE FORMAT HASH
    HEADER HOURS ID ISSUER LENGTH LIMIT MINUTES NAME PARAMETER PATH POLICY PREFIX REQUIRED ROTATION SECONDS SIZE TTL
    TYPE URI URL USER VERSION""".split()
)
_SPECIAL = re.compile(r"[@#$%^&*+=~!?](?!\Z)")
_DIGITS = re.compile(r"[0-9]")

ORDINARY = frozenset(
    """access admin any api apikey aucun aucune auto automatic basic bearer bool boolean bytes changed changeme char
    chaîne client config cookie default denied digest disabled dummy empty enabled encoded encrypted env environment
    erforderlich example expired expiré expirée facultatif facultative false field file forgotten generated hashed
    header hidden hint incorrect incorrecte input insert int integer invalid invalide jwt key keyring label leer
    ldap manquant manquante mandatory manual masked missing my needed nil no non none null number oauth object
    obligatoire off on optional optionnel optionnelle oublié oubliée oui here pass passwd password passwort
    placeholder plain plaintext prompt pwd random redacted refresh requis requise required reset same secret
    secretstr set sso stdin str string test text texte the this todo token true undefined unchanged unknown unset
    user username valid value varchar vault vide wrong yes your""".split()
)
"""Words that stand behind such names and are no secret, also as parts of a placeholder (`your-api-key-here`)."""


@cache
def compiled(source: str) -> re.Pattern[str]:
    """A pattern, compiled at its first use: hooks live for a moment, and most texts have no hint of most secrets."""
    return re.compile(source)


def places(text: str) -> Iterator[tuple[int, int]]:
    """The places of the secrets that are known by their names, from the first to the last."""
    at = 0
    for start in _beginnings(text):
        # A mark has a name and ends with a bracket, as an index does.
        for pattern in (_SAID, _NAMED, _STATED) if start >= at and not text.endswith("[redacted:", 0, start) else ():
            match = compiled(pattern).match(text, start)
            span = _place(text, match) if match else None
            if span:
                at = span[1]
                yield span
                break


def _beginnings(text: str) -> list[int]:
    """Where a name may begin. To look for words is many times faster than to search for the pattern of all names."""
    values = set()
    for word in _BEGINNINGS:
        at = text.find(word)
        while at >= 0:
            values.add(at)
            at = text.find(word, at + 1)
    return sorted(values)


def is_secret(name: str, value: str) -> bool:
    """Whether the value of a JSON object's member of this name is a secret."""
    match = re.search(_AT_END, name[-NAME_CHARACTERS:])
    if not match or _names_something_else(match.string, match):
        return False
    return _judged(value, password=bool(match["password"]), quoted=True, capital=match["known"].isupper(), last=True)


def _place(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    sign, start = name["sign"], name.end()
    if name.re is compiled(_STATED):
        return _stated(text, name)
    if _names_something_else(text, name) or not (sign or _is_option(text, name)):
        return None
    capital, named = name["known"].isupper(), name.re is compiled(_NAMED)
    quoted = _QUOTED.match(text, start)
    if quoted:
        start, end = quoted.span("value")
    else:
        start += text[start : start + 1] in ("'", '"', "`")
        run = (_CAPITAL if capital and sign == "=" else _PLAIN).match(text, start)
        if not run:
            return None
        end = run.end() if run.end() - start == READ else start + len(run[0].rstrip(".,;:)]}»”“’"))
    last = bool(_END_OF_LINE.match(text, end))
    judged = _judged(
        text[start:end],
        password=bool(name["password"]),
        # In `--password=...` it stands alone, as it does in quotes.
        quoted=(quoted is not None and (named or quoted["open"] != "`")) or (sign == "=" and _is_option(text, name)),
        capital=capital and named and (sign == "=" or last),
        last=last or "=" in sign,
    )
    if not judged or (not named and _NUMBERED.match(text[start:end])):
        return None
    # Of a longer one no more is read before it is judged: else each name in it would read it again.
    rest = _REST.match(text, end) if end - start == READ and not quoted else None
    return start, rest.end() if rest else end


def _stated(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    """The place of a secret without a sign before it. Nearly always another word of the sentence stands there, so a
    secret must look like one, or stand in the quotes of SQL.
    """
    start = name.end()
    quoted = _QUOTED.match(text, start)
    if quoted and quoted["open"] != "`":
        value = quoted["value"]
        sql = not name["sign"] and (name["known"].isupper() or name["known"].startswith("IDENTIFIED"))
        judged = _judged(value, password=True, quoted=True, capital=True, last=True)
        return quoted.span("value") if judged and (sql or _looks_random(value)) else None
    start += text[start : start + 1] in ("'", '"', "`")
    run = _PLAIN.match(text, start)
    if not run or run.end() - start == READ:
        return None
    value = run[0].rstrip(".,;:)]}»”“’")
    return (start, start + len(value)) if _looks_random(value) and is_own(value, quoted=False) else None


def _looks_random(value: str) -> bool:
    """Whether it is no word, version or name, but letters of both cases with digits at two places, or with signs."""
    plain = re.sub(_TECHNICAL, "", value)
    mixed = any(char.islower() for char in plain) and any(char.isupper() for char in plain)
    digits = len(re.findall("[0-9]+", plain))
    if not mixed or len(plain) < LEAST_KEY or re.search(r"[/\\]|\w[.]\w", plain):
        return False
    return digits >= 2 or (digits > 0 and bool(_SPECIAL.search(plain) or value.endswith("!")))


def _is_option(text: str, name: re.Match[str]) -> bool:
    return _OPTION.search(text[max(0, name.start() - NAME_CHARACTERS) : name.start()]) is not None


def _names_something_else(text: str, name: re.Match[str]) -> bool:
    """Whether it is the end of another word (`cmdp`; `userPassword` is a name), or names something about a secret
    (`PASSWORD_FILE`).
    """
    before, first = text[max(0, name.start() - 1) : name.start()], name["known"][0]
    within = before.isalpha() and not (before.islower() and first.isupper()) and len(name["known"]) <= SHORT
    return within or name["suffix"].rpartition("_")[2] in _ABOUT


def _judged(value: str, *, password: bool, quoted: bool, capital: bool, last: bool) -> bool:
    """Whether the value of such a name is a secret. `capital`: its name is in capitals, and a `=` stands between them
    or `last` holds. `last`: nothing follows it on its line.
    """
    if len(value) < SHORTEST or (" " in value and not (capital and password)):
        return False
    plain = re.sub(_TECHNICAL, "", value) if _DIGITS.search(value) else value
    digits, letters = len(_DIGITS.findall(plain)), any(char.isalpha() for char in plain)
    special = bool(_SPECIAL.search(plain))
    if password:
        looks = (letters or special or last or quoted) if digits or special else quoted or capital
    elif not letters or len(value) < SHORTEST_KEY:
        looks = False
    else:
        random = digits >= 2 and (capital or len(value) >= LEAST_KEY)
        looks = random or (capital and bool(digits or special or len(value) >= LEAST_KEY))
    return looks and is_own(value, quoted=quoted)


def is_own(value: str, *, quoted: bool = True, placeholders: Collection[str] = ORDINARY) -> bool:
    """Whether it is no variable, reference, call, elision or placeholder of these words."""
    if _VARIABLE.match(value) or _REFERENCE.match(value) or "..." in value or "…" in value:
        return False
    if not quoted and _CODE.match(value):
        return False
    words = [word for word in re.split(r"[\W_]+", value.lower()) if word]
    telling = [word.strip("0123456789") for word in words if len(word) > 2 or not word.isdigit()]
    if all(word in placeholders or set(word) <= {"x"} for word in telling):
        # A number behind placeholders is part of them; a long one is not.
        return sum(char.isdigit() for char in value) > 2
    return True
