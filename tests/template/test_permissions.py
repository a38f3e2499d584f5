"""Who may do what: the roles that SAM makes, and the bucket's own protection."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.cases import each
from tests.support.policy import Request, as_list, object_arn, role_name

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = [
    *"Ingest Reads Search Indexer Admin Start Archives Backup Counter Consolidate Sweep".split(),
    *"Conversations Summarize Memories Rooms Digest Questions Ask Mcp Signin Page".split(),
]
KEEPING = [name for name in FUNCTIONS if name != "Page"]
"""What has anything to do with the bucket."""
WHOLE_SPACES = {"Archives", "Backup"}
"""What takes whatever lies below a space, and brings it back."""
REMEMBERING = "Memories Digest Questions Ask Mcp"
WORKERS = "Start Archives Backup Counter Consolidate Sweep"
BUCKET = "arn:${AWS::Partition}:s3:::${BucketName}"

# SAM adds this one to every role that it makes: writing logs.
LOGS_POLICY = "policy/service-role/AWSLambdaBasicExecutionRole"


@pytest.fixture(scope="session")
def statements(of_type):
    """Function -> the statements of its role, as written."""
    return {
        role_name(name): [
            statement
            for policy in role.get("Policies", [])
            for statement in as_list(policy["PolicyDocument"]["Statement"])
        ]
        for name, role in of_type("AWS::IAM::Role").items()
    }


def test_each_function_has_a_role_of_its_own(of_type):
    roles = [str(function["Role"]) for function in of_type("AWS::Lambda::Function").values()]

    assert Counter(roles) == {str({"Fn::GetAtt": [f"{name}FunctionRole", "Arn"]}): 1 for name in FUNCTIONS}


def test_no_role_has_a_managed_policy_but_the_one_for_logs(of_type):
    attached = [arn for role in of_type("AWS::IAM::Role").values() for arn in role.get("ManagedPolicyArns", [])]

    assert len(attached) == len(FUNCTIONS)
    assert all(str(arn).rstrip("'}]").endswith(LOGS_POLICY) for arn in attached)


@each("name", FUNCTIONS)
def test_no_statement_allows_all_actions_or_all_resources(statements, name):
    for statement in statements[name]:
        assert not any("*" in action for action in as_list(statement["Action"])), statement
        assert "*" not in as_list(statement["Resource"]), statement


@each("name", FUNCTIONS)
def test_every_statement_says_what_it_is_for(statements, name):
    own = [statement for statement in statements[name] if as_list(statement["Action"]) != ["sqs:SendMessage"]]

    assert all(statement.get("Sid") for statement in own)


@each("name", FUNCTIONS)
def test_every_function_gets_404_and_not_403_for_a_missing_key(statements, name):
    bucket = {"Fn::Sub": BUCKET}

    versions = {"s3:ListBucketVersions"} if name in WHOLE_SPACES else set()
    listing = set() if name == "Page" else {"s3:ListBucket"}
    assert listing | versions == {
        action
        for statement in statements[name]
        if statement["Resource"] == bucket
        for action in as_list(statement["Action"])
    }


@each(
    ("action", "key", "allowed"),
    [
        (
            "s3:PutObject",
            "alpha/live/20260220T140000_cline_todo_0a1b2c3d.md",
            "Ingest Mcp Admin Start Archives Backup Consolidate Sweep Summarize Conversations",
        ),
        (
            "s3:DeleteObject",
            "alpha/live/20260220T140000_cline_todo_0a1b2c3d.md",
            "Admin Start Archives Backup Consolidate Sweep",
        ),
        ("s3:PutObject", "alpha/bank/progress.md", "Admin Start Archives Backup Consolidate Sweep"),
        ("s3:PutObject", "alpha/bank/live/notes.md", "Admin Start Archives Backup Consolidate Sweep"),
        ("s3:PutObject", "alpha/_meta.json", "Admin Start Archives Backup Consolidate Sweep"),
        (
            "s3:GetObject",
            "alpha/_meta.json",
            f"Ingest Reads Search Indexer Admin Conversations Summarize Rooms Signin {REMEMBERING} {WORKERS}",
        ),
        ("s3:PutObject", "alpha/_rules.md", "Admin Start Archives Backup Consolidate Sweep"),
        ("s3:DeleteObject", "alpha/_rules.md", "Admin Archives Backup Sweep"),
        ("s3:DeleteObject", "alpha/_meta.json", "Archives Backup Sweep"),
        ("s3:DeleteObject", "alpha/_consolidations/000001_a_b.json", "Admin Archives Backup Sweep"),
        ("s3:DeleteObject", "alpha/photo.png", "Admin Archives Backup Sweep"),
        ("s3:GetObject", "alpha/photo.png", "Archives Backup"),
        ("s3:PutObject", "alpha/_lease.json", "Admin Start Archives Backup Counter Consolidate Sweep"),
        ("s3:DeleteObject", "alpha/_lease.json", "Admin Start Archives Backup Counter Consolidate Sweep"),
        ("s3:PutObject", "alpha/_runs/01J.json", "Admin Start Mcp Archives Backup Counter Consolidate Sweep"),
        ("s3:PutObject", "alpha/_consolidations/000001_a_b.json", "Admin Start Archives Backup Consolidate Sweep"),
        ("s3:PutObject", "alpha/_idempotency/ab.json", "Ingest Archives Backup"),
        ("s3:DeleteObject", "alpha/_idempotency/ab.json", "Admin Archives Backup Sweep"),
        ("s3:GetObject", "alpha/_idempotency/ab.json", "Ingest Archives Backup Sweep"),
        (
            "s3:GetObject",
            "_system/tokens.json",
            "Ingest Reads Search Admin Start Archives Backup Conversations Memories Rooms Questions Mcp Signin",
        ),
        ("s3:GetObject", "alpha/_search/1-000001.sqlite", "Search Indexer Archives Backup Questions Ask Mcp"),
        # Orders to forget what is deleted lie there too.
        ("s3:PutObject", "alpha/_search/1-000001.sqlite", "Indexer Archives Backup Sweep Conversations"),
        ("s3:DeleteObject", "alpha/_search/1-000001.sqlite", "Indexer Admin Archives Backup Sweep"),
        ("s3:PutObject", "alpha/_vectors/m-3/00000001.vec", "Indexer Archives Backup"),
        ("s3:PutObject", "alpha/bank/_search/a.md", "Admin Start Archives Backup Consolidate Sweep"),
        ("s3:PutObject", "_system/tokens.json", "Admin Archives Backup"),
        ("s3:DeleteObject", "_system/tokens.json", ""),
        ("s3:GetObject", f"_system/page_codes/{'0' * 64}.json", "Admin Archives Backup"),
        ("s3:DeleteObject", f"_system/page_codes/{'0' * 64}.json", "Archives Backup Sweep"),
        (
            "s3:GetObject",
            "_system/oauth/grants/01J.json",
            "Reads Search Admin Start Archives Backup Conversations Memories Rooms Mcp Signin Sweep",
        ),
        ("s3:PutObject", "_system/oauth/grants/01J.json", "Archives Backup Signin"),
        ("s3:DeleteObject", "_system/oauth/grants/01J.json", "Sweep"),
        ("s3:GetObject", "_system/oauth/codes/ab.json", "Archives Backup Signin"),
        ("s3:PutObject", "_system/oauth/redeemed/ab.json", "Archives Backup Signin"),
        (
            "s3:PutObject",
            "_system/capability-check/conditional-writes",
            f"Ingest Reads Admin {WORKERS} Conversations Summarize Rooms Signin {REMEMBERING}",
        ),
        (
            "s3:GetObject",
            "alpha/conversations/01J/turns/9999999998.turn.json",
            "Search Indexer Archives Backup Sweep Conversations Summarize Questions Ask Mcp",
        ),
        (
            "s3:PutObject",
            "alpha/conversations/01J/turns/9999999998.turn.json",
            "Archives Backup Conversations Questions Ask Mcp",
        ),
        ("s3:PutObject", "alpha/conversations/01J/jobs/01J.json", "Archives Backup Conversations Summarize"),
        (
            "s3:DeleteObject",
            "alpha/conversations/01J/turns/9999999998.turn.json",
            "Admin Archives Backup Sweep Conversations",
        ),
        ("s3:GetObject", "alpha/memories/facts/snapshot/00000100.json", f"Search Archives Backup Sweep {REMEMBERING}"),
        ("s3:PutObject", "alpha/memories/facts/snapshot/00000100.m-3.vec", f"Search Archives Backup {REMEMBERING}"),
        (
            "s3:GetObject",
            "alpha/rooms/general/20260220T140000_0123456789abcdef.json",
            "Search Indexer Archives Backup Rooms Digest Questions Ask Mcp",
        ),
        ("s3:PutObject", "alpha/bank/conversations/a.md", "Admin Start Archives Backup Consolidate Sweep"),
        (
            "s3:GetObject",
            "alpha/memories/facts/log/00000001.json",
            f"Search Indexer Archives Backup Sweep {REMEMBERING}",
        ),
        ("s3:PutObject", "alpha/memories/facts/log/00000001.json", f"Archives Backup Sweep {REMEMBERING}"),
        ("s3:PutObject", "alpha/memories/facts/snapshot/00000100.json", f"Archives Backup {REMEMBERING}"),
        ("s3:DeleteObject", "alpha/memories/facts/log/00000001.json", "Admin Archives Backup Sweep"),
        ("s3:PutObject", "alpha/bank/memories/facts/log/a.md", "Admin Start Archives Backup Consolidate Sweep"),
        ("s3:PutObject", "alpha/rooms/general/20260220T140000_0123456789abcdef.json", "Archives Backup Rooms"),
        (
            "s3:DeleteObject",
            "alpha/rooms/general/20260220T140000_0123456789abcdef.json",
            "Admin Archives Backup Sweep Digest",
        ),
        ("s3:PutObject", "alpha/bank/rooms/a.md", "Admin Start Archives Backup Consolidate Sweep"),
        ("s3:PutObject", "alpha/_digests/20260220T140000/done.json", "Archives Backup Digest"),
        ("s3:PutObject", "alpha/_asks/01J.json", "Archives Backup Questions Ask Mcp"),
        (
            "s3:PutObject",
            # Of a space that is called as a folder is.
            "_due/20260220T1400/ab-bank/space",
            " ".join(KEEPING),
        ),
        ("s3:PutObject", "_due/19700101T0000/ab-live/unreadable/live%2F_meta.json", " ".join(KEEPING)),
        ("s3:GetObject", "_due/20260220T1400/ab-bank/space", ""),
        ("s3:DeleteObject", "_due/20260220T1400/ab-bank/space", "Digest Sweep"),
        ("s3:DeleteObjectVersion", "_system/tokens.json", ""),
        ("s3:DeleteObjectVersion", "alpha/live/20260220T140000_cline_todo_0a1b2c3d.md", "Archives Backup"),
        ("s3:DeleteObject", "_system/capability-check/conditional-writes", ""),
        ("s3:GetObject", "_backups/alpha/2026-02-20T14-00-00/live/x.md", "Archives Backup"),
        ("s3:PutObject", "_backups/alpha/2026-02-20T14-00-00/live/x.md", "Archives Backup"),
        ("s3:DeleteObject", "_backups/alpha/2026-02-20T14-00-00/_meta.json", "Archives Backup Sweep"),
    ],
)
def test_only_what_has_to_may_touch_a_key(roles, action, key, allowed):
    wanted = Request(action, object_arn(key))

    assert {name for name in FUNCTIONS if roles[name].allows(wanted)} == set(allowed.split())


def test_only_what_starts_consolidations_or_hands_work_over_may_invoke_and_only_who_does_it(statements):
    invoking = {
        name: {resource["Fn::Sub"].rpartition("-")[2] for resource in as_list(statement["Resource"])}
        for name in FUNCTIONS
        for statement in statements[name]
        if "lambda:InvokeFunction" in as_list(statement["Action"])
    }

    assert invoking == {
        **{name: {"consolidate"} for name in ("Admin", "Counter")},
        **{name: {"consolidate", "backup"} for name in ("Archives", "Backup")},
        **{name: {"indexer"} for name in ("Search", "Indexer")},
        **{name: {"consolidate", "indexer"} for name in ("Start", "Consolidate")},
        "Sweep": {"consolidate", "backup", "indexer", "summarize", "ask"},
        "Conversations": {"summarize", "indexer"},
        "Summarize": {"summarize"},
        **{name: {"digest"} for name in ("Rooms", "Digest")},
        **{name: {"ask", "indexer"} for name in ("Questions", "Ask")},
        # The last of its statements: what carries the tools out that it does not itself.
        "Mcp": {"ingest", "reads", "search", "conversations", "memories", "rooms", "admin", "start", "archives"},
    }


SECRETS = {
    "Signin": ["OidcClientSecretParameter"],
    "Consolidate": ["LlmApiKeyParameter"],
    "Reads": ["LlmApiKeyParameter", "EmbeddingsApiKeyParameter"],
    "Search": ["EmbeddingsApiKeyParameter"],
    "Indexer": ["EmbeddingsApiKeyParameter"],
    "Conversations": ["LlmApiKeyParameter"],
    "Summarize": ["LlmApiKeyParameter"],
    **{
        name: ["LlmApiKeyParameter", "EmbeddingsApiKeyParameter"]
        for name in ("Memories", "Digest", "Questions", "Ask", "Mcp")
    },
}


def test_only_what_asks_a_model_and_health_may_read_its_key_and_they_decrypt_nothing_else(statements):
    secret = {
        name: [s for s in statements[name] if as_list(s["Action"])[0].split(":")[0] in {"ssm", "kms", "secretsmanager"}]
        for name in FUNCTIONS
    }
    assert {name: len(found) for name, found in secret.items() if found} == {
        name: 2 * len(keys) for name, keys in SECRETS.items()
    }

    for name, keys in SECRETS.items():
        for key, parameter, decrypt in zip(keys, secret[name][::2], secret[name][1::2], strict=True):
            assert parameter["Action"] == "ssm:GetParameter"
            assert parameter["Resource"]["Fn::Sub"].endswith(f":parameter${{{key}}}")
            assert decrypt["Action"] == "kms:Decrypt"
            conditions = decrypt["Condition"]["StringEquals"]
            assert set(conditions) == {"kms:ViaService", "kms:EncryptionContext:PARAMETER_ARN"}
            assert conditions["kms:EncryptionContext:PARAMETER_ARN"] == parameter["Resource"]


def test_what_serves_the_page_may_do_nothing_but_log(statements):
    assert statements["Page"] == []


def test_what_sends_notes_to_the_llm_knows_no_token_of_the_api(roles, functions):
    assert not roles["Consolidate"].allows(Request("s3:GetObject", object_arn("_system/tokens.json")))
    assert "ADMIN_BOOTSTRAP_KEY_SHA256" not in functions["ConsolidateFunction"]["Environment"]["Variables"]


TAKEN_OVER = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def test_the_documents_say_what_a_takeover_of_each_function_could_do(roles):
    chapter = (ROOT / "docs" / "security.md").read_text().partition("## If a function is taken over")[2]
    rows = {name.capitalize(): cells for name, *cells in TAKEN_OVER.findall(chapter.partition("\n## ")[0])}

    def those(action: str, key: str) -> set[str]:
        return {name for name in FUNCTIONS if roles[name].allows(Request(action, object_arn(key)))}

    def say(column: int, *words: str) -> set[str]:
        return {name for name, cells in rows.items() if any(word in cells[column] for word in words)}

    tokens, backups = "_system/tokens.json", "_backups/alpha/2026-02-20T14-00-00/live/x.md"
    assert sorted(rows) == sorted(FUNCTIONS)
    assert say(0, "names of tokens", "everything in the bucket") == those("s3:GetObject", tokens)
    assert say(1, "**tokens**", "the same as `archives`") == those("s3:PutObject", tokens)
    assert say(1, "**backups**", "the same as `archives`") == those("s3:DeleteObject", backups)
    assert say(0, "the models' keys") == {name for name, keys in SECRETS.items() if len(keys) == 2}
    for kind, key in (("LLM", "LlmApiKeyParameter"), ("embedding model", "EmbeddingsApiKeyParameter")):
        assert say(0, f"the {kind}'s key") == {name for name, keys in SECRETS.items() if keys == [key]}


def test_the_bucket_is_encrypted_private_versioned_and_kept(source):
    bucket = source["Resources"]["Bucket"]
    properties = bucket["Properties"]

    assert bucket["DeletionPolicy"] == bucket["UpdateReplacePolicy"] == "Retain"
    assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4
    assert properties["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}


def test_the_bucket_forgets_old_versions_and_broken_uploads_but_nothing_that_is_current(source):
    rules = source["Resources"]["Bucket"]["Properties"]["LifecycleConfiguration"]["Rules"]

    assert any("NoncurrentVersionExpiration" in rule for rule in rules)
    assert any("AbortIncompleteMultipartUpload" in rule for rule in rules)
    expiring = [rule["Prefix"] for rule in rules if {"ExpirationInDays", "ExpirationDate"} & set(rule)]
    # Small notes on which nothing rests, places that are free again, and archives that were made of what is there.
    assert expiring == ["_system/last_used/", "_system/caps/", "_system/requests/", "_exports/", "_uploads/"]


def test_the_bucket_refuses_plain_http(source):
    (statement,) = source["Resources"]["BucketPolicy"]["Properties"]["PolicyDocument"]["Statement"]

    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(statement["Resource"]) == 2
