"""The service's own variables, checked before anything starts: by the same model that the functions read."""

from collections.abc import Mapping

from pydantic import ValidationError


def find_problems(variables: Mapping[str, str]) -> list[str]:
    """The problems of the service's variables, one sentence for each, never with a value.

    `variables` is a whole environment; what the service does not read is not looked at.
    """
    from livemem.settings import Settings, problems  # noqa: PLC0415 - a process that checks nothing does without them

    given = {name.lower(): value for name, value in variables.items() if name.lower() in Settings.model_fields}
    try:
        settings = Settings(**given)  # type: ignore[arg-type]  # texts, as in the environment
    except ValidationError as error:
        return [f"{problem}." for problem in problems(error)]
    is_given = given.get("admin_bootstrap_key") or given.get("admin_bootstrap_key_sha256")
    problem = settings.bootstrap_key_problem() if is_given else None
    return [f"{problem}."] if problem else []
