"""How late things can be: each physical fact once, with its source.

Every interval that waits for late events is a sum of these, here or where it is used. Ages by the store's clock need no
SKEW. Comparing the times of two processes needs APART.
"""

from datetime import timedelta

INVOCATION = timedelta(minutes=15)
"""Longest life of an invocation: Lambda's limit, and the `Timeout` of the workers in template.yaml. Its process is
killed then."""

ANSWER = timedelta(seconds=30)
"""Time in which an HTTP function has answered: the HTTP API waits no longer, and `Globals` in template.yaml ends the
function at 28 s.
"""

REQUEST = timedelta(seconds=20)
"""How long an HTTP function works on a request itself, so that it answers before ANSWER. Longer work is done by an
invocation of its own, or the client asks again.
"""

SWEEPING = timedelta(minutes=5)
"""Longest life of a sweep: the function's `Timeout` in template.yaml."""

SWEEPS = timedelta(minutes=15)
"""Time between two sweeps: the schedule in template.yaml."""

DELIVERED = timedelta(hours=1)
"""How long Lambda delivers an asynchronous invocation, retries and waiting for a slot included:
MaximumEventAgeInSeconds in template.yaml."""

BACKUP_DELIVERED = timedelta(hours=6)
"""How long Lambda delivers an invocation of the backup function, for which all spaces wait in one night."""

RETRIES = timedelta(minutes=1), timedelta(minutes=2)
"""Waits after which Lambda delivers a failed invocation again (AWS Lambda, "Asynchronous invocation")."""

ON_ITS_WAY = timedelta(minutes=5)
"""How long an event or an invocation is waited for: mostly it comes within a second. After that somebody looks for what
it was about."""

REPEATED = timedelta(minutes=15)
"""How long a request can still act after it was sent. The SDK repeats it while its invocation lives, and S3 refuses a
signature that is older (Amazon S3, `RequestTimeTooSkewed`)."""

SKEW = timedelta(minutes=5)
"""How far the clock of a machine may differ from the store's: a generous bound, Lambda's are within a second."""

MARGIN = timedelta(minutes=1)
"""Added where a sum must be more than its parts: for stamps in whole seconds, and for the end of a process."""

APART = SKEW + SKEW
"""How far the clocks of two machines may differ."""

DEAD_AFTER = INVOCATION + MARGIN
"""Age of a worker's last write after which it is certainly dead."""

AGENT = timedelta(minutes=10)
"""How long a run waits for the answer of the agent that folds."""

BY_HAND = ANSWER + ANSWER
"""Life of a lease that an HTTP request takes and does not renew."""

LAST_WRITE = INVOCATION + REPEATED
"""Time, by the store's clock, after which no work that was under way can act: its worker has ended, and the worker's
last request is too late."""
