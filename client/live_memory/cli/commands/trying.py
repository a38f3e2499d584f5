"""`livemem try-model`: what a model manages of the service's own work."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from live_memory.cli import local_service, own_model
from live_memory.cli.exits import Refused
from live_memory.cli.local_service import Choices
from live_memory.cli.options import Json
from live_memory.cli.session import plain

OFFLINE = "offline"
NO_MODEL = (
    "No model is configured: give --llm URL and --model NAME, or set LLMAAS_API_URL and LLMAAS_MODEL. --llm offline "
    "tries the offline LLM, which is no language model."
)


def try_model(
    ctx: typer.Context,
    llm: Annotated[
        str | None,
        typer.Option(
            "--llm",
            metavar="URL",
            help="An OpenAI-compatible API; its key: LLMAAS_API_KEY. claude: Claude Code. offline: the offline LLM.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model there.")] = None,
    case: Annotated[
        str | None,
        typer.Option(
            "--case", metavar="NAME", help="Only cases of this name or kind: consolidation, digest, verdicts, question."
        ),
    ] = None,
    prompt_price: Annotated[
        float | None, typer.Option("--prompt-price", min=0, help="Dollars for a million tokens of prompts.")
    ] = None,
    answer_price: Annotated[
        float | None, typer.Option("--answer-price", min=0, help="Dollars for a million tokens of answers.")
    ] = None,
    json: Json = False,
) -> None:
    """Try a model with recorded work: consolidations, digests, verdicts and questions.

    The prompts and checks are the service's own. The table shows for each case whether the contract was kept, notes
    cited, values and language right, and what it cost. Nothing is written to a service. By default it is the model that
    `livemem serve` uses. All other settings of the model are the variables LLMAAS_*. Ctrl-C ends it with the table so
    far.
    """
    with plain(ctx, json=json) as (program, _):
        folder = local_service.data_folder(program.environ)
        said = own_model.settled(Choices.of(program.environ, llm=llm, model=model), program.environ, Path.cwd())
        choices = local_service.chosen(folder, said)
        # Refuses first where the service is not installed.
        arguments, root, variables = local_service.command(program.environ, folder, choices, module="local.try_model")
        if not choices.llm:
            raise Refused(NO_MODEL)
        given = {"--case": case, "--prompt-price": prompt_price, "--answer-price": answer_price}
        options = [part for name, value in given.items() if value is not None for part in (name, str(value))]
        whole = [*arguments, *options, *(["--json"] if json else [])]
        sys.stdout.flush()
        os.chdir(root)
        # It takes the place of this process: signals and the exit status are its own.
        os.execve(whole[0], whole, variables)  # noqa: S606 - our own interpreter and program
