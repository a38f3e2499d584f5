"""What the stack on real parts decides by itself, without any of the parts."""

import json
from pathlib import Path

import httpx
import pytest

from local import ROOT
from local.config import ConfigError
from local.functions.template import Function, PutTrigger, Template, read_template
from local.sam import docker, minio, warm_up
from local.sam.config import Ports, read_config
from local.sam.servers import StackError
from local.sam.variables import Store, functions_variables, sam_variables
from local.sam.warm_up import first_event
from tests.support.cases import each

STORE = Store("http://172.17.0.1:3002", "memory", "key", "secret")


OFFLINE = "http://172.17.0.1:3003/v1"


def variables(outer=None, *, template=None):
    return functions_variables(
        template or read_template(ROOT / "template.yaml"),
        read_config(outer or {}),
        store=STORE,
        api_url="http://127.0.0.1:3000",
        lambda_url="http://172.17.0.1:3001",
        offline_url=OFFLINE,
        admin_key_sha256="a1b2" * 16,
    )


@each("port", ["5000", "4997", "8999", "80", "65534", "http"])
def test_a_port_that_sam_or_the_system_may_take_is_refused(port):
    with pytest.raises(ConfigError, match="PORT is"):
        read_config({"PORT": port})


def test_the_four_ports_are_neighbours():
    assert Ports.of(read_config({"PORT": "14300"})) == (14300, 14301, 14302, 14303)


@each("url", ["http://localhost:11434/v1", "http://127.0.0.1/v1", "http://[::1]:8000/v1"])
@each("name", ["LLMAAS_API_URL", "EMBEDDINGS_API_URL"])
def test_a_model_that_containers_would_look_for_in_themselves_is_refused(name, url):
    with pytest.raises(ConfigError, match=f"{name} is .+ the container itself"):
        read_config({name: url})


def test_containers_reach_the_offline_models_at_the_same_address():
    given = variables()["ReadsFunction"]
    assert (given["LLMAAS_API_URL"], given["EMBEDDINGS_API_URL"]) == (OFFLINE, OFFLINE)
    assert (given["EMBEDDINGS_MODEL"], given["EMBEDDINGS_API_KEY"]) == ("offline-fuse", "offline")


def test_an_embedding_model_of_ones_own_or_none_is_passed_on():
    given = {"EMBEDDINGS_MODEL": "m", "EMBEDDINGS_API_URL": "http://172.17.0.1:11434/v1"}
    own = variables(given)["ReadsFunction"]
    assert (own["EMBEDDINGS_API_URL"], own["EMBEDDINGS_MODEL"]) == ("http://172.17.0.1:11434/v1", "m")
    assert own["EMBEDDINGS_API_KEY"] == ""
    assert variables({"EMBEDDINGS_API_URL": "off"})["ReadsFunction"]["EMBEDDINGS_API_URL"] == ""


def test_a_function_gets_only_what_the_template_declares_for_it():
    given = variables({"UNDECLARED": "x", "LOG_LEVEL": "DEBUG"})
    assert given["IngestFunction"]["ADMIN_BOOTSTRAP_KEY_SHA256"] == "a1b2" * 16
    assert "ADMIN_BOOTSTRAP_KEY_SHA256" not in given["CounterFunction"]
    assert given["CounterFunction"]["LOG_LEVEL"] == "DEBUG"
    assert all("UNDECLARED" not in values for values in given.values())


def test_functions_are_invoked_by_their_logical_ids():
    assert {values["CONSOLIDATE_FUNCTION_NAME"] for values in variables().values()} == {"ConsolidateFunction"}


def test_sign_in_is_at_the_address_of_the_api_or_where_its_user_says_or_off():
    assert variables()["SigninFunction"]["OAUTH_ISSUER"] == "http://127.0.0.1:3000"
    assert variables({"OAUTH_ISSUER": "http://127.0.0.1:8"})["McpFunction"]["OAUTH_ISSUER"] == "http://127.0.0.1:8"
    assert variables({"OAUTH_ISSUER": ""})["McpFunction"]["OAUTH_ISSUER"] == ""


def test_the_sam_cli_sees_no_credentials_of_the_developer():
    given = sam_variables({"AWS_PROFILE": "mine", "AWS_SECRET_ACCESS_KEY": "real", "PATH": "/bin"})
    assert "AWS_PROFILE" not in given
    assert given["AWS_SECRET_ACCESS_KEY"] == "local"
    assert given["PATH"] == "/bin"


def test_each_subscribed_function_has_a_webhook_and_a_notification_with_its_filter():
    trigger = PutTrigger("Written", suffix=".md")
    function = Function("Counter", "c", Path(), "app.handler", 3, 128, 2, None, {}, (), (trigger,), ())
    template = Template((function,))
    webhooks = minio._webhooks(template, "http://172.17.0.1:3001")
    assert webhooks == {
        "MINIO_NOTIFY_WEBHOOK_ENABLE_COUNTER": "on",
        "MINIO_NOTIFY_WEBHOOK_ENDPOINT_COUNTER": "http://172.17.0.1:3001/2015-03-31/functions/Counter/invocations",
    }
    (subscription,) = minio._subscriptions(template)
    assert subscription["QueueArn"] == "arn:minio:sqs::COUNTER:webhook"
    assert subscription["Events"] == ["s3:ObjectCreated:Put"]
    assert subscription["Filter"]["Key"]["FilterRules"] == [{"Name": "suffix", "Value": ".md"}]


def test_each_function_with_routes_is_called_by_a_method_that_there_is(monkeypatch):
    sent = []

    def request(method, url, **_):
        of_route = url.startswith("http://api/")
        if of_route:
            sent.append((method, url))
        return httpx.Response(401 if of_route else 200, json={})

    monkeypatch.setattr(httpx, "request", request)
    template = read_template(ROOT / "template.yaml")

    warm_up.warm_up(template, "http://api", "http://lambda", lambda _: None)

    assert len(sent) == len([function for function in template.functions if function.routes])
    assert ("GET", "http://api/mcp") in sent
    assert {method for method, _ in sent} <= {"GET", "POST"}


def test_each_function_that_is_invoked_otherwise_than_by_a_route_has_an_event_for_its_first_call():
    functions = read_template(ROOT / "template.yaml").functions
    invoked = {each.code.name: first_event(each) for each in functions if each.schedules or not each.routes}
    assert {name for name, event in invoked.items() if "space_id" in event} == {"ask", "consolidate", "indexer"}
    assert invoked["counter"] == {"Records": []}
    assert {"backup", "sweep"} < set(invoked)


def test_a_bridge_that_another_machine_has_is_said_and_no_port_is_blamed(monkeypatch):
    for address, found in (("192.0.2.77", None), ("127.0.0.1", "127.0.0.1")):
        bridge = [{"IPAM": {"Config": [{"Gateway": "fe80::1"}, {"Gateway": address}]}}]
        monkeypatch.setattr(docker, "run", lambda *_, bridge=bridge: json.dumps(bridge))
        if found:
            assert docker.find_host() == found
        else:
            with pytest.raises(StackError, match="bridge has no address of this machine"):
                docker.find_host()
