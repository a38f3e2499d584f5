"""How late things can be: each physical fact once, with its source.

Every interval that waits for what may still come is a sum of these, here or at its place. Ages by the store's clock
need no SKEW; times of two processes that are compared need APART.
"""

from datetime import timedelta

INVOCATION = timedelta(minutes=15)
"""Longest life of an invocation: Lambda's limit, and the `Timeout` of the workers in template.yaml. Its process is
killed then."""

ANSWER = timedelta(seconds=30)
"""In which an HTTP function has answered: the HTTP API waits no longer, and `Globals` in template.yaml ends it at 28 s.
"""

REQUEST = timedelta(seconds=20)
"""For how long an HTTP function works on a request itself, so that it answers before ANSWER. What takes longer is done
by an invocation of its own, or asked for once more.
"""

SWEEPING = timedelta(minutes=5)
"""Longest life of a sweep: the function's `Timeout` in template.yaml."""

SWEEPS = timedelta(minutes=15)
"""Time between two sweeps: the schedule in template.yaml."""

DELIVERED = timedelta(hours=1)
"""For which Lambda delivers an asynchronous invocation, retries and waiting for a slot included:
MaximumEventAgeInSeconds in template.yaml."""

BACKUP_DELIVERED = timedelta(hours=6)
"""The same of the backup function, for which all spaces wait in one night."""

RETRIES = timedelta(minutes=1), timedelta(minutes=2)
"""After which Lambda delivers an invocation again that failed (AWS Lambda, "Asynchronous invocation")."""

REPEATED = timedelta(minutes=15)
"""For which a request can still act after it was sent: the SDK sends it again while its invocation lives, and S3 takes
none whose signature is older (Amazon S3, `RequestTimeTooSkewed`)."""

SKEW = timedelta(minutes=5)
"""By which the clock of a machine may be off the store's: reckoned generously, Lambda's are within a second."""

MARGIN = timedelta(minutes=1)
"""What comes on top where a sum must be more than its parts: for stamps in whole seconds, and for the end of a process.
"""

APART = SKEW + SKEW
"""By which the clocks of two machines may differ."""

DEAD_AFTER = INVOCATION + MARGIN
"""Age of a worker's last word after which it is dead for sure."""

BY_HAND = ANSWER + ANSWER
"""Life of a lease that a request takes and does not renew."""

LAST_WRITE = INVOCATION + REPEATED
"""After which nothing acts any more that was under way, by the store's clock: its worker has ended, and what that sent
last is too late."""
