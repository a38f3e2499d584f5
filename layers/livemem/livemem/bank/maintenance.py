"""The bank's part of upkeep: its keys; nothing of it needs maintenance."""

from livemem.jobs.maintainable import Maintainable
from livemem.store import keys

MAINTAINABLE = Maintainable(owns=keys.is_of_bank)
