"""The keys that the bank owns. Nothing in it needs maintenance."""

from livemem.jobs.maintainable import Maintainable
from livemem.store import keys

MAINTAINABLE = Maintainable(owns=keys.is_of_bank)
