"""What each function is, what it is told and where it logs."""

import ast
import re
from pathlib import Path

import pytest

from livemem.search.view import FILES_BYTES
from livemem.settings import Settings
from tests.support.cases import each

ROOT = Path(__file__).resolve().parents[2]

FUNCTIONS = {
    "IngestFunction": "functions/ingest",
    "ReadsFunction": "functions/reads",
    "SearchFunction": "functions/search",
    "IndexerFunction": "functions/indexer",
    "AdminFunction": "functions/admin",
    "CounterFunction": "functions/counter",
    "ConsolidateFunction": "functions/consolidate",
    "StartFunction": "functions/consolidate",
    "ArchivesFunction": "functions/backup",
    "BackupFunction": "functions/backup",
    "SweepFunction": "functions/sweep",
    "ConversationsFunction": "functions/conversations",
    "SummarizeFunction": "functions/summarize",
    "MemoriesFunction": "functions/memories",
    "RoomsFunction": "functions/rooms",
    "DigestFunction": "functions/digest",
    "QuestionsFunction": "functions/ask",
    "AskFunction": "functions/ask",
    "McpFunction": "functions/mcp",
    "PageFunction": "functions/page",
    "SigninFunction": "functions/signin",
}
HTTP_FUNCTIONS = {
    "IngestFunction",
    "ReadsFunction",
    "SearchFunction",
    "AdminFunction",
    "StartFunction",
    "ArchivesFunction",
    "ConversationsFunction",
    "MemoriesFunction",
    "QuestionsFunction",
    "RoomsFunction",
    "McpFunction",
    "SigninFunction",
}
SEARCHING = {
    f"{name}Function" for name in ("Search", "Indexer", "Memories", "Rooms", "Digest", "Questions", "Ask", "Mcp")
}
WITH_ROUTES = ("Ingest", "Reads", "Search", "Conversations", "Memories", "Rooms", "Admin", "Start", "Archives")
"""What MCP's tools are carried out by, where it does not do it itself."""

# What docs/configuration.md lists under "Settings", and what the functions tell each other.
SETTINGS = {
    "S3_BUCKET_NAME",
    "S3_ENDPOINT_URL",
    "S3_REGION_NAME",
    "S3_ACCESS_KEY_ID",
    "S3_SECRET_ACCESS_KEY",
    "S3_SIGNATURE",
    "LLMAAS_API_URL",
    "LLMAAS_MODEL",
    "LLMAAS_MAX_TOKENS",
    "LLMAAS_TEMPERATURE",
    "LLMAAS_CONTEXT_TOKENS",
    "LLMAAS_JSON_MODE",
    "LLMAAS_EXTRA",
    "EMBEDDINGS_API_URL",
    "EMBEDDINGS_MODEL",
    "EMBEDDINGS_DIMENSIONS",
    "EMBEDDINGS_QUERY_PREFIX",
    "EMBEDDINGS_TEXT_PREFIX",
    "LLM_TIMEOUT_SECONDS",
    "CONSOLIDATION_MAX_NOTES",
    "CONSOLIDATION_THRESHOLD",
    "BANK_CHARS",
    "PENDING_NOTE_LIMIT",
    "LLM_DAILY_TOKEN_BUDGET",
    "LLM_DAILY_TOKEN_BUDGET_PER_SPACE",
    "CONSOLIDATION_COOLDOWN_SECONDS",
    "SPACES_PER_TOKEN_PER_DAY",
    "UPLOADS_PER_TOKEN_PER_DAY",
    "BACKUPS_PER_SPACE_PER_DAY",
    "EXPORTS_PER_SPACE_PER_DAY",
    "CONVERSATIONS_PER_TOKEN_PER_DAY",
    "ROOMS_PER_SPACE_PER_DAY",
    "WORK_AT_ONCE_PER_SPACE",
    "ASKS_AT_ONCE_PER_SPACE",
    "ASKS_AT_ONCE_PER_TOKEN",
    "REQUESTS_PER_SPACE_PER_SECOND",
    "REQUESTS_PER_TOKEN_PER_SECOND",
    "OAUTH_ISSUER",
    "REDACT_SECRETS",
    "READ_CACHE_MB",
    "ROOM_MIN_RELEVANCE",
    "MEMORY_MERGE",
    "PUT_EVENTS",
    "BACKUP_RETENTION_DAYS",
    "BACKUP_KEEP_LAST",
    "BACKUP_SKIP_UNCHANGED",
    "BACKUPS_EXPECTED",
    "BACKUP_FUNCTION_NAME",
    "INDEXER_FUNCTION_NAME",
    "SUMMARIZE_FUNCTION_NAME",
    "DIGEST_FUNCTION_NAME",
    "DIGEST_HOURS",
    "DEFAULT_TIMEZONE",
    "ASK_FUNCTION_NAME",
    "RUN_RETENTION_DAYS",
    "LOG_LEVEL",
    "CONSOLIDATE_FUNCTION_NAME",
    "AWS_ENDPOINT_URL_LAMBDA",
}


def variables(function):
    return function["Environment"]["Variables"]


def test_there_are_exactly_the_functions_of_the_architecture(functions):
    assert {name: function["CodeUri"] for name, function in functions.items()} == FUNCTIONS


@each("folder", FUNCTIONS.values())
def test_each_function_has_a_module_with_a_handler(folder):
    tree = ast.parse((ROOT / folder / "app.py").read_text())
    handlers = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "handler"]

    assert [[argument.arg for argument in handler.args.args] for handler in handlers] == [["event", "context"]]


@each("name", FUNCTIONS)
def test_each_function_runs_python_3_13_with_its_layers_on_the_chosen_architecture(functions, name):
    function = functions[name]

    assert function["Runtime"] == "python3.13"
    assert function["Handler"] == "app.handler"
    assert function["Architectures"] == [{"Ref": "Architecture"}]
    searches = [{"Ref": "SearchLayer"}] if name in SEARCHING else []
    speaks_mcp = [{"Ref": "McpLayer"}] if name == "McpFunction" else []
    signs_in = [{"Ref": "SigninLayer"}] if name == "SigninFunction" else []
    assert function["Layers"] == [{"Ref": "LivememLayer"}, *searches, *speaks_mcp, *signs_in]


def test_what_searches_has_room_for_its_views_and_the_indexer_for_a_copy_too(functions):
    room = {
        name: functions[f"{name}Function"]["EphemeralStorage"]["Size"] * 1_048_576
        for name in ("Search", "Questions", "Ask", "Mcp", "Indexer")
    }

    assert min(room.values()) >= 2 * FILES_BYTES
    assert room["Indexer"] >= 4 * FILES_BYTES


PROVIDER = {"OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "OIDC_CLAIM", "OIDC_SCOPE"}


@each("name", FUNCTIONS)
def test_each_function_has_every_setting(functions, name):
    assert set(variables(functions[name])) >= SETTINGS


def test_no_function_has_a_variable_that_is_no_setting(functions):
    declared = set().union(*(variables(function) for function in functions.values()))

    keys = {"ADMIN_BOOTSTRAP_KEY_SHA256", "LLMAAS_API_KEY", "EMBEDDINGS_API_KEY", *PROVIDER}
    names = {f"{name.upper()}_FUNCTION_NAME" for name in WITH_ROUTES}
    assert declared == SETTINGS | keys | names | {"POWERTOOLS_METRICS_NAMESPACE", "OPENBLAS_NUM_THREADS"}


def test_only_sign_in_knows_an_outside_provider_and_where_its_secret_lies(functions):
    told = {name for name, function in functions.items() if PROVIDER & set(variables(function))}

    assert told == {"SigninFunction"}
    assert set(variables(functions["SigninFunction"])) >= PROVIDER
    assert variables(functions["SigninFunction"])["OIDC_CLIENT_SECRET"] == {"Ref": "OidcClientSecretParameter"}


def test_whatever_the_code_reads_as_a_setting_can_be_set(functions):
    declared = set().union(*(variables(function) for function in functions.values()))

    # These are for processes that no template starts.
    assert {name.upper() for name in Settings.model_fields} - declared == {"ADMIN_BOOTSTRAP_KEY", "SESSION_FOLDS"}


def test_only_what_answers_http_has_the_hash_of_the_bootstrap_key_and_nothing_has_the_key(functions):
    told = {name: variables(function).get("ADMIN_BOOTSTRAP_KEY_SHA256") for name, function in functions.items()}

    assert {name for name, value in told.items() if value} == HTTP_FUNCTIONS
    assert all(value in (None, {"Ref": "AdminBootstrapKeySha256"}) for value in told.values())


def test_only_what_asks_the_llm_is_told_where_its_key_lies_and_never_the_key(functions):
    told = {name: variables(function).get("LLMAAS_API_KEY") for name, function in functions.items()}

    # Health, among the reads, asks for the LLM's models.
    asking = ("Consolidate", "Reads", "Conversations", "Summarize", "Memories", "Digest", "Questions", "Ask", "Mcp")
    assert {name: value for name, value in told.items() if value} == {
        f"{name}Function": {"Ref": "LlmApiKeyParameter"} for name in asking
    }


def test_only_what_asks_the_embedding_model_is_told_where_its_key_lies_and_never_the_key(functions):
    told = {name: variables(function).get("EMBEDDINGS_API_KEY") for name, function in functions.items()}

    assert {name: value for name, value in told.items() if value} == {
        name: {"Ref": "EmbeddingsApiKeyParameter"} for name in {"ReadsFunction", *SEARCHING} - {"RoomsFunction"}
    }


@each("invoked", ["Consolidate", "Backup", "Indexer", "Summarize", "Digest", "Ask"])
def test_what_invokes_a_function_knows_its_true_name(functions, invoked):
    name = functions[f"{invoked}Function"]["FunctionName"]

    told = {str(variables(function)[f"{invoked.upper()}_FUNCTION_NAME"]) for function in functions.values()}
    assert told == {str(name)}


@each("invoked", WITH_ROUTES)
def test_mcp_knows_the_true_name_of_what_carries_its_tools_out(functions, invoked):
    told = variables(functions["McpFunction"])[f"{invoked.upper()}_FUNCTION_NAME"]

    assert told == functions[f"{invoked}Function"]["FunctionName"]
    assert {key.removesuffix("Function") for key in HTTP_FUNCTIONS} - {"Questions", "Mcp", "Signin"} == set(WITH_ROUTES)


@each("name", sorted(HTTP_FUNCTIONS))
def test_what_answers_http_gives_up_before_the_api_does(functions, name):
    assert functions[name]["Timeout"] < 29


def test_a_consolidation_may_wait_for_the_llm_and_still_finish(functions, source):
    longest_wait = source["Parameters"]["LlmTimeoutSeconds"]["MaxValue"]

    assert functions["ConsolidateFunction"]["Timeout"] == 900
    assert longest_wait + 60 <= 900


@each("name", FUNCTIONS)
def test_each_function_logs_json_into_a_group_of_its_own_that_forgets(functions, source, name):
    logging = functions[name]["LoggingConfig"]
    group = source["Resources"][logging["LogGroup"]["Ref"]]

    assert logging["LogFormat"] == "JSON"
    assert group["Type"] == "AWS::Logs::LogGroup"
    assert group["Properties"]["LogGroupName"] == {
        "Fn::Sub": "/aws/lambda/" + functions[name]["FunctionName"]["Fn::Sub"]
    }
    assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_every_log_group_forgets(of_type):
    groups = of_type("AWS::Logs::LogGroup")

    assert len(groups) == len(FUNCTIONS) + 1
    assert all(group["RetentionInDays"] for group in groups.values())


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("LivememLayer", "layers/livemem"),
        ("SearchLayer", "layers/search"),
        ("McpLayer", "layers/mcp"),
        ("SigninLayer", "layers/signin"),
    ],
)
def test_each_layer_is_built_by_sam_for_the_runtime_and_the_architecture(source, name, folder):
    layer = source["Resources"][name]

    assert layer["Metadata"] == {"BuildMethod": "python3.13", "BuildArchitecture": {"Ref": "Architecture"}}
    assert layer["Properties"]["ContentUri"] == folder
    assert layer["Properties"]["CompatibleRuntimes"] == ["python3.13"]
    assert (ROOT / folder / "requirements.txt").is_file()
    assert not (ROOT / folder / "python").exists()


def test_no_log_level_makes_lambda_drop_the_metrics(source, functions):
    level = functions["SweepFunction"]["LoggingConfig"]["ApplicationLogLevel"]

    # Metrics are lines without a level, which Lambda takes for INFO; LOG_LEVEL filters the others in the code.
    assert level == {"Fn::FindInMap": ["LambdaLogLevel", {"Ref": "LogLevel"}, "Name"]}
    levels = {name: entry["Name"] for name, entry in source["Mappings"]["LambdaLogLevel"].items()}
    assert set(levels) == set(source["Parameters"]["LogLevel"]["AllowedValues"])
    assert set(levels.values()) == {"DEBUG", "INFO"}


def test_tracing_is_off_unless_asked_for(source, of_type):
    assert source["Parameters"]["Tracing"]["Default"] == "Disabled"
    assert not any("TracingConfig" in function for function in of_type("AWS::Lambda::Function").values())


def test_tracing_brings_its_own_permission(traced):
    resources = traced["Resources"]

    for name in FUNCTIONS:
        assert resources[name]["Properties"]["TracingConfig"] == {"Mode": {"Ref": "Tracing"}}
        assert "XRay" in str(resources[f"{name}Role"]["Properties"]["ManagedPolicyArns"][1]).replace("Xray", "XRay")


def test_the_page_of_the_architecture_counts_the_functions_that_there_are(functions):
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs" / "architecture.md").read_text()
    folders = list((root / "functions").glob("*/app.py"))

    told = re.findall(r"the (\d+) functions of `template.yaml`, in (\d+) folders", page)

    assert told == [(str(len(functions)), str(len(folders)))]
