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
    (),
)


def variables(outer=None, provided=None, *, own_credentials=False):
    return build_environment(
        FUNCTION, outer or {}, provided or {}, lambda_url="http://l", own_credentials=own_credentials
    )


def test_a_function_gets_only_what_the_template_declares():
    found = variables({"B": "outer", "C": "outer", "SECRET": "x", "PATH": "/bin"}, {"C": "given", "E": "given"})
    assert (found["A"], found["B"], found["C"], found["PATH"]) == ("a", "outer", "given", "/bin")
    assert not {"D", "E", "SECRET"} & found.keys()


def test_a_function_never_sees_the_developers_credentials_by_accident():
    outer = {"AWS_ACCESS_KEY_ID": "real", "AWS_SECRET_ACCESS_KEY": "real", "AWS_PROFILE": "prod"}
    assert variables(outer)["AWS_ACCESS_KEY_ID"] == "local"
    assert "AWS_PROFILE" not in variables(outer)
    assert variables(outer, own_credentials=True)["AWS_ACCESS_KEY_ID"] == "real"


def test_a_function_reaches_our_servers_past_any_proxy():
    found = variables({"HTTP_PROXY": "http://proxy", "NO_PROXY": "corp"})
    assert (found["HTTP_PROXY"], found["NO_PROXY"]) == ("http://proxy", "corp,127.0.0.1,localhost")
    assert found["AWS_ENDPOINT_URL_LAMBDA"] == "http://l"
    assert function_arn(FUNCTION).endswith(":function:live-f")
