"""The variables of the functions (the file for `--env-vars`), and those of the SAM CLI itself."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from local import admin_key, models
from local.config import Config
from local.functions.template import Template

# Beyond these, the developer's AWS settings stay out of it: nothing here may reach a real account.
_DUMMY_AWS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    # The CLI asks STS who it is; refused at once, it goes on, and saves seconds of retries.
    "AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1",
    "AWS_MAX_ATTEMPTS": "1",
}


@dataclass(frozen=True)
class Store:
    """The bucket and the keys to it."""

    url: str
    bucket: str
    access_key: str
    secret_key: str


def functions_variables(
    template: Template,
    config: Config,
    *,
    store: Store,
    api_url: str,
    lambda_url: str,
    offline_url: str,
    admin_key_sha256: str,
) -> dict[str, dict[str, str]]:
    """Variables by function (logical id): what the stack decides and the caller set, if the template declares it.

    `api_url` is where the API is served, `offline_url` the offline LLM for containers.
    """
    provided = {
        "S3_BUCKET_NAME": store.bucket,
        "S3_ENDPOINT_URL": store.url,
        "S3_REGION_NAME": "us-east-1",
        "S3_ACCESS_KEY_ID": store.access_key,
        "S3_SECRET_ACCESS_KEY": store.secret_key,
        "AWS_ENDPOINT_URL_LAMBDA": lambda_url,
        # It serves this machine alone, so its address is known. An empty one switches sign-in off.
        "OAUTH_ISSUER": config.outer.get("OAUTH_ISSUER", api_url),
        admin_key.VARIABLE: admin_key_sha256,
        **models.provide(config, offline_url),
    }

    def choose(name: str, declared: str | None) -> str | None:
        if not name.endswith("_FUNCTION_NAME"):
            return provided.get(name, config.outer.get(name))
        # Here functions go by their logical ids: only a deployment gives them names.
        found = template.find(declared or "")
        return found.logical_id if found else None

    return {
        function.logical_id: {
            name: value
            for name, declared in function.environment.items()
            if (value := choose(name, declared)) is not None
        }
        for function in template.functions
    }


def sam_variables(outer: Mapping[str, str]) -> dict[str, str]:
    """The variables of `sam local` itself."""
    kept = {name: value for name, value in outer.items() if not name.startswith("AWS_")}
    return kept | _DUMMY_AWS | {"SAM_CLI_TELEMETRY": "0"}
