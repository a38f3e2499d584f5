"""No request reaches a handler unless all that API Gateway says about its path agrees, for every route there is."""

import itertools
import json

import pytest

from livemem_http import routing
from scripts.openapi import HTTP_FUNCTIONS
from tests.support.cases import each
from tests.support.functions import Context, loaded
from tests.support.part import part
from tests.support.routes import ROUTES, good
from tests.support.world import BOOTSTRAP_KEY

# The next route of the same function.
ANOTHER = {
    key: keys[(keys.index(key) + 1) % len(keys)]
    for keys in ([key for of, key in ROUTES if of == function] for function in HTTP_FUNCTIONS)
    for key in keys
}


def said(event):
    return event["routeKey"], event["rawPath"], event["pathParameters"] or {}


KEYS = {
    "as it is": lambda key: key,
    "missing": lambda key: None,
    "empty": lambda key: "",
    "default": lambda key: "$default",
    "unknown": lambda key: f"{key}/nothing",
    "only the path": lambda key: key.partition(" ")[2],
    "another route": lambda key: ANOTHER[key],
}
PATHS = {
    "as it is": lambda path: path,
    "missing": lambda path: None,
    "another space": lambda path: path.replace("/mine", "/theirs") if "/mine" in path else "/v1/spaces/theirs",
    "longer": lambda path: f"{path}/more",
    "trailing slash": lambda path: f"{path}/",
    "trailing line break": lambda path: f"{path}\n",
    "dots": lambda path: f"/v1/x/..{path.removeprefix('/v1')}",
}
PARAMETERS = {
    "as they are": lambda given: given,
    "missing": lambda given: None,
    "another space": lambda given: {**given, "space_id": "theirs"},
    "one too many": lambda given: {**given, "extra": "x"},
    "no text": lambda given: {**given, "space_id": ["mine"]},
    "a slash": lambda given: {**given, "space_id": "mine/more"},
}


def changed(event, new_key, new_path, new_parameters, method):
    http = event["requestContext"]["http"]
    path = new_path(event["rawPath"])
    new = {
        "routeKey": new_key(event["routeKey"]),
        "rawPath": path,
        "pathParameters": new_parameters(event["pathParameters"]),
        "requestContext": {
            **event["requestContext"],
            "http": {**http, "path": path, "method": method or http["method"]},
        },
    }
    return {name: value for name, value in {**event, **new}.items() if value is not None}


def disagreeing(key):
    """(event for a route, how many of its parts are changed) with combinations of changes that do not agree: all of
    one change, and of the others a part.
    """
    agreeing = [said(good(of, space_id=space_id)) for of in (key, ANOTHER[key]) for space_id in ("mine", "theirs")]
    unchanged = good(key)
    every = [
        (changes, sum(change not in ("as it is", "as they are", None) for change in changes))
        for changes in itertools.product(KEYS, PATHS, PARAMETERS, (None, "HEAD"))
    ]
    # The path of a space that a slash makes longer.
    least = [one for one in every if one[1] == 1 or one[0] == ("as it is", "longer", "a slash", None)]
    some = [*least, *part((one for one in every if one[1] > 1), 5)]
    for (new_key, new_path, new_parameters, method), count in some:
        event = changed(unchanged, KEYS[new_key], PATHS[new_path], PARAMETERS[new_parameters], method)
        if method or (event.get("routeKey"), event.get("rawPath"), event.get("pathParameters") or {}) not in agreeing:
            yield event, count


@pytest.mark.slow
@each(("function", "key"), ROUTES)
def test_a_request_whose_parts_disagree_is_no_route_and_the_store_is_not_asked(unreachable, function, key):
    module = loaded(function)
    events = list(disagreeing(key))
    assert len(events) > 100

    for event, _ in events:
        with pytest.raises(routing.RouteNotFound):
            routing.match(event, module.api.needs)

    # Whoever carries out requests asks for a match before anything else: some show that.
    answers = [module.handler(event, Context()) for event, changes in events if changes == 1]
    assert len(answers) > 10
    assert {(answer["statusCode"], json.loads(answer["body"])["code"]) for answer in answers} == {
        (404, "route_not_found")
    }


@pytest.mark.parametrize("token", [None, "lm_unknown", BOOTSTRAP_KEY])
def test_who_has_no_token_learns_of_an_unknown_route_what_all_learn(unreachable, token):
    event = good("GET /v1/spaces/{space_id}", token)
    event["routeKey"] = "$default"
    event["body"] = "no json"
    event["queryStringParameters"] = {"unknown": "1"}

    answer = loaded("reads").handler(event, Context())

    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (404, "application/problem+json")
    assert json.loads(answer["body"]) == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "There is no such route; the OpenAPI document lists all.",
        "code": "route_not_found",
        "request_id": "JKJaXmPLvHcESHA=",
    }


def test_a_token_on_a_known_route_does_reach_the_store(unreachable):
    answer = loaded("reads").handler(good("GET /v1/spaces/{space_id}", "lm_unknown"), Context())

    assert answer["statusCode"] == 503


@each(("function", "key"), ROUTES)
def test_the_handler_gets_what_access_was_checked_on(unreachable, function, key):
    api = loaded(function).api
    event = good(key)

    match = routing.match(event, api.needs)

    assert (match.key, dict(match.parameters)) == (key, event["pathParameters"])
    # What the resolver hands over is read from the match; a handler declares all names but the rest of a path.
    declared = {field.name for field in api.declared.registered(key).dependant.path_params}
    assert declared == set(match.parameters) - {"path"}


@each(
    ("path", "stage"),
    [
        ("/v1/spaces/ä b/bank/x%y.md", "$default"),
        ("/v1/spaces/%C3%A4%20b/bank/x%25y.md", "$default"),
        ("/prod/v1/spaces/ä b/bank/x%y.md", "prod"),
    ],
)
def test_a_path_agrees_decoded_or_not_and_behind_the_name_of_a_stage(path, stage):
    key = "GET /v1/spaces/{space_id}/bank/{path+}"
    parameters = {"space_id": "ä b", "path": "x%y.md"}
    context = {"http": {"method": "GET"}, "stage": stage}
    event = {"routeKey": key, "rawPath": path, "pathParameters": parameters, "requestContext": context}

    assert routing.match(event, {key}) == routing.Match(key, parameters)


@each("event", [{}, {"routeKey": ["GET /"]}, {"routeKey": "GET /v1/health", "rawPath": 7}])
def test_an_event_that_is_none_of_the_api_gateway_is_no_route(event):
    with pytest.raises(routing.RouteNotFound):
        routing.match(event, {"GET /v1/health"})
