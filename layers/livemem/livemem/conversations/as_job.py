"""A job that makes summaries, as a job of any kind: `summaries`. Its name holds the conversation's id and its own."""

from collections.abc import Iterable
from dataclasses import replace

from livemem.access.principal import Principal
from livemem.conversations import summaries_job
from livemem.jobs import describable
from livemem.jobs.describable import Describable, Description
from livemem.process import Process
from livemem.store import conversation_keys as keys


def name(conversation_id: str, job_id: str) -> str:
    """The id of the job within its kind."""
    return f"{conversation_id}.{job_id}"


def find(process: Process, _: Principal, space_id: str, name: str) -> Description:
    """The job's description: requests as `summaries_job.load`. Raises InvalidName, NotFound, ObjectUnreadable."""
    conversation_id, _dot, job_id = name.partition(".")
    job = summaries_job.load(process, space_id, conversation_id, job_id)
    return replace(describable.of_job("summaries", job), space_id=space_id, name=name)


def listed(process: Process, space_id: str, conversation_id: str) -> Iterable[tuple[int, str]]:
    """The jobs of one conversation, the newest first: 1 LIST per 1,000. No list covers all conversations."""
    keys.check_conversation_id(conversation_id)
    entries = process.store.scan(keys.jobs_prefix(space_id, conversation_id))
    ids = describable.by_moment(found for entry in entries if (found := keys.parse_job(entry.key)))
    return ((moment, name(conversation_id, job_id)) for moment, job_id in ids)


DESCRIBABLE = Describable("summaries", find)
