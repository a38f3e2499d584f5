"""The evaluator of roles decides as IAM does."""

import pytest

from tests.support.cases import each
from tests.support.policy import Request, Role, read_statement

BUCKET = "arn:aws:s3:::b"


def role(*statements):
    return Role(tuple(grant for statement in statements for grant in read_statement(statement)))


def allow(action, resource, **rest):
    return {"Sid": "S", "Effect": "Allow", "Action": action, "Resource": resource, **rest}


def deny(action, resource):
    return allow(action, resource) | {"Effect": "Deny"}


def get(key):
    return Request("s3:GetObject", f"{BUCKET}/{key}")


@each(
    ("pattern", "key", "allowed"),
    [
        ("*/_meta.json", "demo/_meta.json", True),
        # moto's evaluator would take the dot for any character, and look at the beginning only.
        ("*/_meta.json", "demo/_metaXjson", False),
        ("*/_meta.json", "demo/_meta.json.bak", False),
        ("*/_meta.json", "demo/_meta.json\n", False),
        ("*/live/*", "demo/bank/live/x.md", True),
        ("*/live/*", "demo/live", False),
        ("?/x", "a/x", True),
        ("?/x", "ab/x", False),
        ("[a]/x", "a/x", False),
        ("A/x", "a/x", False),
    ],
)
def test_a_star_is_any_text_a_question_mark_one_character_and_everything_else_itself(pattern, key, allowed):
    assert role(allow("s3:GetObject", f"{BUCKET}/{pattern}")).allows(get(key)) is allowed


def test_what_no_statement_allows_is_refused():
    assert not role().allows(get("x"))
    assert not role(allow("s3:PutObject", f"{BUCKET}/*")).allows(get("x"))
    # The bucket is not its objects.
    assert not role(allow("s3:GetObject", BUCKET)).allows(get("x"))


def test_a_denial_is_stronger_than_any_permission():
    held = role(allow("s3:GetObject", f"{BUCKET}/*"), deny("s3:GetObject", f"{BUCKET}/_backups/*"))

    assert held.allows(get("x"))
    assert not held.allows(get("_backups/x"))


def test_a_condition_that_does_not_hold_makes_the_statement_say_nothing():
    condition = {"StringEquals": {"kms:ViaService": {"Fn::Sub": "ssm.eu-west-1.amazonaws.com"}}}
    held = role(allow("kms:Decrypt", "arn:key", Condition=condition))

    assert held.allows(Request("kms:Decrypt", "arn:key", (("kms:ViaService", "ssm.eu-west-1.amazonaws.com"),)))
    assert not held.allows(Request("kms:Decrypt", "arn:key", (("kms:ViaService", "s3.eu-west-1.amazonaws.com"),)))
    assert not held.allows(Request("kms:Decrypt", "arn:key"))


@each(
    "statement",
    [
        allow("s3:*", f"{BUCKET}/*"),
        allow("s3:Get?bject", f"{BUCKET}/*"),
        allow("s3:GetObject", {"Fn::Join": ["", []]}),
        allow("s3:GetObject", {"Fn::Sub": f"{BUCKET}/${{Unknown}}"}),
        allow("s3:GetObject", BUCKET, Condition={"StringLike": {"s3:prefix": "x/*"}}),
        allow("s3:GetObject", BUCKET, NotAction="s3:PutObject"),
    ],
)
def test_what_it_does_not_know_it_refuses_to_judge(statement):
    with pytest.raises(ValueError, match=r"not known here|one by one|not resolved"):
        role(statement)


def test_a_grant_is_superfluous_if_every_request_would_be_allowed_without_it():
    held = role(
        allow(["s3:GetObject", "s3:PutObject"], f"{BUCKET}/x"),
        allow("s3:GetObject", f"{BUCKET}/*"),
        deny("s3:GetObject", f"{BUCKET}/y"),
    )

    # Of the two that allow it, each can do without the other; a denial is no permission.
    assert [str(grant) for grant in held.superfluous([get("x")])] == [
        f"S: s3:GetObject {BUCKET}/x",
        f"S: s3:PutObject {BUCKET}/x",
        f"S: s3:GetObject {BUCKET}/*",
    ]
    assert [grant.action for grant in held.superfluous([get("z"), Request("s3:PutObject", f"{BUCKET}/x")])] == [
        "s3:GetObject"
    ]
