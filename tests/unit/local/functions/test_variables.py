import os
from pathlib import Path

from local.functions.template import Function
from local.functions.variables import build_environment, function_arn

FUNCTION = Function(
    "F",
    "live-f",
    Path("/code"),
    "app.handler",
    3,
    256,
    2,
    None,
    {"A": "a", "B": "b", "C": "c", "D": None},
    (),
    (),
    (),
)


def variables(outer=None, provided=None, *, own_credentials=False):
    return build_environment([FUNCTION], outer or {}, provided or {}, own_credentials=own_credentials)


def test_a_variable_is_what_the_runtime_decides_else_what_the_user_says_else_what_the_template_says():
    found = variables({"B": "outer", "C": "outer", "PATH": "/bin"}, {"C": "given", "E": "given"})
    assert (found["A"], found["B"], found["C"], found["PATH"]) == ("a", "outer", "given", "/bin")
    assert not {"D", "E"} & found.keys()


def test_a_function_never_sees_the_developers_credentials_by_accident():
    outer = {"AWS_ACCESS_KEY_ID": "real", "AWS_SECRET_ACCESS_KEY": "real", "AWS_PROFILE": "prod"}
    assert variables(outer)["AWS_ACCESS_KEY_ID"] == "local"
    assert "AWS_PROFILE" not in variables(outer)
    assert variables(outer, own_credentials=True)["AWS_ACCESS_KEY_ID"] == "real"


def test_a_store_of_ones_own_is_opened_with_its_key_or_with_the_developers_profile():
    outer = {"AWS_PROFILE": "prod", "AWS_CONFIG_FILE": "/home/me/aws"}
    chain = variables(outer, own_credentials=True)
    assert (chain["AWS_PROFILE"], chain["AWS_CONFIG_FILE"]) == ("prod", "/home/me/aws")
    assert not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"} & chain.keys()
    keyed = variables(outer | {"S3_ACCESS_KEY_ID": "mine"}, own_credentials=True)
    assert (keyed.get("AWS_PROFILE"), keyed["AWS_CONFIG_FILE"]) == (None, os.devnull)


def test_a_function_reaches_our_servers_past_any_proxy():
    found = variables({"HTTP_PROXY": "http://proxy", "NO_PROXY": "corp"})
    assert (found["HTTP_PROXY"], found["NO_PROXY"]) == ("http://proxy", "corp,127.0.0.1,localhost")
    assert function_arn(FUNCTION).endswith(":function:live-f")
