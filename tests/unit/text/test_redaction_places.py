"""Secrets that are known by where they stand: in a command, in a header, in a cookie. Their neighbours stay."""

import random
import re
from typing import Any

from livemem.text.redaction import Redaction, mark, redact
from tests.support import leaks
from tests.support.cases import each

# What stands in «» is the secret.
COMMANDS = [
    "curl -u ann:«hunter2x» https://api.example.org",
    "curl -sSu 'ann:«swordfish»' https://api.example.org",
    'curl --user "ann:«my pass word»" https://api.example.org',
    "curl --user=ann:«hunter2x» https://api.example.org",
    "curl -u name:«secret» https://api.example.org",
    "curl -uann:«hunter2x» https://api.example.org",
    "curl -x http://proxy:3128 --proxy-user ann:«hunter2x» https://api.example.org",
    'curl -X POST https://api.example.org/v1 -H "Accept: a/b" \\\n  -u ann:«hunter2x»',
    '{"cmd": "curl -u \\"ann:«hunter2x»\\" https://api.example.org"}',
    'curl -b "sid=«8f7e6d5c4b3a»; theme=dark" https://api.example.org',
    "curl --cookie 'session=«abcDEF123456»' https://api.example.org",
    '["curl", "-u", "ann:«hunter2x»", "https://api.example.org"]',
    '{"command": [\n  "mysql",\n  "-p«hunter2x»",\n  "app"\n]}',
    "subprocess.run(['sshpass', '-p', '«swordfish»', 'ssh', 'a@b'])",
    "https -a ann:«hunter2x» example.org",
    "mysql -p«secret» mydb",
    "mysql -u root -p«S3cr3t!» -h db",
    "mysqldump -uroot -p'«my secret»' app > dump.sql",
    "/usr/bin/mysqladmin -p«hunter2x» status",
    "mariadb-dump -p«swordfish» app",
    "Run `mysql -p«hunter2x»` now.",
    "true && mysql -u root -p«hunter2x» app && docker run -p 8080:80 x",
    "mysql --password=«swordfish» app; mysql -p«tiger77»",
    "PGPASSWORD=«swordfish» psql -h db",
    "MYSQL_PWD=«swordfish» mysql -h db",
    "SSHPASS=«swordfish» sshpass -e ssh a@b",
    "REDISCLI_AUTH=«swordfish» redis-cli ping",
    "sshpass -p «hunter2x» ssh a@b",
    "sshpass -p«swordfish» ssh a@b",
    "docker login -u ann -p «swordfish» registry.example.org",
    "docker login registry.example.org -u ann --password «hunter»",
    "helm registry login -u ann -p «hunter2x» registry.example.org",
    "az acr login -n reg -p «hunter2x»",
    "redis-cli -a «swordfish» ping",
    "mongosh --host h -u root -p «swordfish»",
    "ldapsearch -x -D cn=admin -w «swordfish» -b dc=x",
    "unzip -P «swordfish» a.zip",
    "7z x -p«swordfish» a.7z",
    "smbclient //h/s -U 'ann%«swordfish»'",
    "sqlcmd -S h -U sa -P '«Sw0rd fish»'",
    "wget --http-password «swordfish» https://example.org",
    "gpg --batch --passphrase «swordfish» -d x",
    "keytool -storepass «swordfish» -list",
    "backup-tool --password=«swordfish» run",
]
SENTENCES = [
    "my password for the staging database is «hunter2x».",
    "The password for db.example.org is now «Kiel-2026-x», tell Ann.",
    "the password was changed to «tiger77abc»",
    'Password is "«swordfish»"',
    "my pw is «hunter2x»",
    "mon mot de passe pour la base est «hunter2x».",
    "Mon mot de passe est\u00a0: «Kiel2026!»",
    "Mon mot de passe, c’est «hunter2x»",
    "le mdp de la base est toujours «hunter2x»",
    "mein Passwort ist «hunter2x»",
    "The API key is «9f8e7d6c5b4a».",
    "The client secret is «k3j4h5g6f7»",
    "my token for ci is «a1b2c3d4e5»",
    "Log in with the password «Kq7vT9pLx2» then.",
    "I set the password for the db to «Kq7vT9pLx2».",
    "The password was rotated; new password «Kq7vT9pLx2»",
    "We changed the db password from the old one to «Harbour-26!»",
    "J'ai changé le mot de passe en «Kq7vT9pLx2».",
    "avec le mot de passe «Kq7vT9pLx2»",
    "the secret is «Kq7vT9pLx2»",
    "machine api.example.org login ann password «Kq7vT9pLx2»",
    "La clé d'API est «Kq7vT9pLx2Kq7v»",
    "Le jeton d’accès est «Kq7vT9pLx2Kq7v»",
    "clé secrète : «Kq7vT9pLx2Kq7v»",
    "ALTER USER ann WITH PASSWORD '«swordfish»';",
    "psql -c \"ALTER ROLE ann PASSWORD '«swordfish»'\"",
    "CREATE USER ann IDENTIFIED BY '«swordfish»';",
    "CREATE USER ann IDENTIFIED WITH mysql_native_password BY '«swordfish»'",
    "SET PASSWORD FOR ann = PASSWORD('«swordfish»');",
    "env:\n- name: DB_PASSWORD\n  value: «Kq7vT9pLx2»\n",
    '[{"name": "DB_PASSWORD", "value": "«Kq7vT9pLx2»"}]',
    "kind: Secret\ndata:\n  password: «S3E3dlQ5cEx4Mg==»\n  user: YW5u",
    "mosquitto_pub -u ann -P «swordfish» -t a -m b",
    "//npm.example.org/:_auth=«YW5uOktxN3ZUOXBMeDI=»",
]
REPEATED = [
    "My password for the database is «kiel7port», so use postgres://app:«kiel7port»@db/app and the DSN «kiel7port».",
    "psql asked for «tiger77abc», which is PASSWORD=«tiger77abc»",
    "curl -u ann:«tiger77abc» https://api.example.org # «tiger77abc»",
    "«tiger77abc»\n```\nexport DB_PASS='«tiger77abc»'\n```",
    "Le mot de passe est «kiel7port». Dans l'URL : redis://:«kiel7port»@h/0",
]
HEADERS = [
    'curl -H "X-Api-Key: «abcdefghij»" https://api.example.org',
    "curl --header 'X-Api-Key: «9f8e7d6c»' https://api.example.org",
    "X-Api-Key: «k3j4h5g6f7»",
    "X-Auth-Token: «5f4dcc3b5aa7»",
    "Ocp-Apim-Subscription-Key: «0f1e2d3c4b5a69788796a5b4c3d2e1f0»",
    '"x-goog-api-key": "«abc123def456»"',
    "Authorization: «k3j4h5g6f7d8»",
    '-H "Webhook-Secret: «quietly»"',
    "client-ſecret: «Ab3dEf9hQ2»",
]
COOKIES = [
    "Cookie: session=«abc123def456»; theme=dark",
    "Set-Cookie: sid=«s%3Aabc.def123»; Path=/; HttpOnly; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
    "set-cookie: a=«0a1b2c3d»; Secure; SameSite=Lax\nset-cookie: b=«4e5f6a7b8c»; Max-Age=3600",
    '{"Cookie": "sid=«0a1b2c3d4e»"}',
    'document.cookie = "token=«0a1b2c3d4e»"',
    "cookie: JSESSIONID=«AbCdEfGhIjKl»",
]
KINDS = {"password": [*COMMANDS, *SENTENCES, *REPEATED], "api-key": HEADERS, "bearer": COOKIES}
SECRET = re.compile("«(.*?)»")


@each(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_a_secret_is_known_by_the_place_in_which_it_stands(kind: str, text: str):
    out, found = redact(SECRET.sub(r"\1", text))

    assert out == SECRET.sub(lambda match: mark(kind, len(match[1])), text)
    assert found == {kind: len(SECRET.findall(text))}


HARMLESS = [
    "[redacted:password]: tiger77abc and [redacted:api-key]=tiger77abc",
    "docker run -p 8080:80 -p5432:5432 nginx",
    "docker run -d -p 5432:5432 --name pg postgres:16",
    "docker login registry.example.org && docker run -p 8080:80 nginx",
    "docker login -u ann --password-stdin < key1.txt",
    "docker login -p flag is insecure",
    "mkdir -p /srv/data/backup1",
    "git push -u origin feature/x1",
    "mysql -u root -p mydb",
    "mysql -h db -P 3306 -u root",
    "ssh -p 2222 ann@host1; scp -P 2222 a b:c",
    'sshpass -p "$SSH_PASSWORD1" ssh a@b',
    "sshpass -e ssh host1",
    'curl -u "$USER:$PASSWORD" https://api.example.org',
    "curl -u user:password https://api.example.org",
    "curl -u ann https://api.example.org; curl -u ann: https://api.example.org",
    "curl -sS https://example.org:8443/a -o out:file1",
    "Use `curl -u name:...` or a token.",
    "redis-cli -h localhost -p 6379",
    "psql -h localhost -p 5432 -U app1; psql -U app -p5432",
    "sudo -u root ls; python -u main.py; nc -p 1234 host1",
    "unzip -p a.zip b1.txt; zip -r out.zip dir1; 7z x a.7z -o/tmp/p1",
    "mongodump --port 27017 -d app1",
    "Cookie: 200 g flour, 2 eggs, 100 g butter",
    "The cookie recipe: flour=200 g is wrong",
    "Set-Cookie: headers are dropped by the proxy",
    "Cookie: name=value",
    "Set-Cookie: session=<token>; Path=/",
    "Cookie: theme=dark-mode; lang=fr; consent=accepted",
    "Cookie: sid=...; Cookie: sid=$SID1",
    "Set the cookie: HttpOnly; Secure; SameSite=Lax",
    "The password reset page is at /reset?step=2",
    "X-Api-Key: your-api-key",
    "X-Api-Key: required; X-Api-Key: $API_KEY1",
    '-H "X-Api-Key: YOUR_KEY" -H "X-Api-Key: ${KEY1}"',
    "Authorization: AWS4-HMAC-SHA256 SignedHeaders=host; Authorization: Digest2 username",
    "X-Request-Id: 550e8400-e29b-41d4-a716-446655440000",
    "X-Idempotency-Key: job-17-step-3 X-Cache-Key: pages/home1",
    "--password=PASSWORD --password=STRING --password=<your password> --password=prompt",
    "My password is wrong, the password is required. The password is case-sensitive. PASSWORD is deprecated",
    "The password is 8 characters long, an 8-character minimum; the password is 8-character.",
    "The password is hashed with argon2id. The password is base64. The password is sha256-hashed.",
    "The password for login is in 1Password7. My password manager is Bitwarden2.",
    "the password is `DB_PASSWORD`; the password is ${DB_PASSWORD1}; it is stored in config.password",
    "The secret to good bread is Type-550 flour. The token is valid for 3600 seconds.",
    "the password was changed to a better one in 2024, and is set to expire in 90d",
    "Le mot de passe est obligatoire. Mon mot de passe est oublié. Le mot de passe est valable 90 jours.",
    "The API key is required. The key is 5d41402abc4b2a76b9719d911017c592.",
    "Reset the password in UserModel2024Test, the password KeePass2 has, and the password of MacBook2023Pro.",
    "password OAuth2PasswordBearer, password H264Codec, password #1234Fix, password 2026-11-28T10:00:00Z",
    "Rows are identified by 'name1'. The \"password 'forgot2' link\".",
    "PASSWORD '${PASS1}', PASSWORD :pw1, PASSWORD NULL",
    "The secret to good bread is Type550Flour in 2Parts. Set the password to ${NEW_PASS2} or to something better.",
    "password: str = field(); - name: PASSWORD\n  value: $(PASSWORD1)\n- name: PASSWORD\n  valueFrom: ref1",
    "La clé primaire : id2. La clé d'API expire dans 90 jours. Le mot de passe est à changer en 2027.",
    "gpg --passphrase-file /run/p1 -d x; wget --password=$WGET_PW1 https://example.org",
]


@each("text", HARMLESS)
def test_what_only_looks_like_such_a_place_stays(text: str):
    assert redact(text) == (text, {})


@each(
    "text",
    [
        "PASSWORD=swordfish is the name of a fish: a swordfish is large",
        "PASSWORD=tiger7 and tiger7 again",
        "PASSWORD=20240101 in 1202401019 and 202401012",
        'PASSWORD="new-york" in New York and new-york',
    ],
)
def test_a_plain_word_a_short_one_and_a_part_of_a_number_stay_where_nothing_names_them(text: str):
    out, found = redact(text)

    assert found.total() == 1
    assert out.partition("*** ")[2] == text.partition(" ")[2] or out.endswith(text[-20:])


@each(
    ("text", "out"),
    [
        ("Le mot de passe est « kiel7port », et kiel7port là.", "Le mot de passe est « *** », et *** là."),
        ("The password is “kiel7port”: kiel7port.", "The password is “***”: ***."),
        ("My password is kiel7port! So kiel7port it is.", "My password is *** So *** it is."),
        ("postgres://u:p%40ss7word@h and p@ss7word", "postgres://u:***@h and ***"),
    ],
)
def test_a_secret_is_known_again_without_the_marks_and_escapes_of_its_first_place(text: str, out: str):
    assert redact(text) == (out, {"password": 2})


def test_a_secret_of_one_part_of_a_value_is_taken_out_of_all_parts():
    sent = ["use tiger77abc here", {"tiger77abc": 1}, "PASSWORD=tiger77abc", {"password": "kiel7port"}, "kiel7port"]
    redaction = Redaction()

    assert redaction.whole(sent) == ["use *** here", {"***": 1}, "PASSWORD=***", {"password": "***"}, "***"]
    assert redaction.counted() == {"password": 5}


@each(
    ("words", "shown"),
    [
        (["curl", "-u", "ann:hunter2x", "https://x"], ["curl", "-u", "ann:***", "https://x"]),
        (["/usr/bin/mysql", "-ptiger77", "app"], ["/usr/bin/mysql", "-p***", "app"]),
        (["sshpass", "-p", "swordfish", "ssh", "a@b"], ["sshpass", "-p", "***", "ssh", "a@b"]),
        (["docker", "run", "-p", "8080:80"], ["docker", "run", "-p", "8080:80"]),
        (["curl", 1, "-u", "ann:hunter2x"], ["curl", 1, "-u", "ann:hunter2x"]),
        ([], []),
    ],
)
def test_a_command_that_is_a_list_of_words_is_read_as_one(words: list[Any], shown: list[Any]):
    assert Redaction().value(words) == shown


def test_members_of_headers_are_read_as_headers():
    headers = {"Cookie": "sid=0a1b2c3d", "Authorization": "Basic dXNlcjpwYXNzd29yZDE=", "X-Api-Key": "k3j4h5g6"}

    assert Redaction().value({"headers": headers}) == {
        "headers": {"Cookie": "sid=***", "Authorization": "Basic [redacted:bearer]", "X-Api-Key": "***"}
    }


@each("place", leaks.PLACES)
def test_keys_of_the_newer_providers_are_known(place: str):
    left = []
    for name, key in leaks.provider_keys(random.Random(place)).items():
        out, found = redact(place.format(key))
        if key[len(name) : -4] in out or not found or redact(out) != (out, {}):
            left.append(key)

    assert left == []
