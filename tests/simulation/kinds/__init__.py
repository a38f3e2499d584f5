"""All kinds of work: what is new on a space is named here, and kills, pairs and histories know it."""

from tests.simulation.kinds.archives import ARCHIVES
from tests.simulation.kinds.backups import BACKUPS
from tests.simulation.kinds.consolidation import CONSOLIDATION
from tests.simulation.kinds.conversations import CONVERSATIONS
from tests.simulation.kinds.copies import COPIES
from tests.simulation.kinds.digests import DIGESTS
from tests.simulation.kinds.erasures import ERASURES
from tests.simulation.kinds.garbage import GARBAGE
from tests.simulation.kinds.indexing import INDEXING
from tests.simulation.kinds.memories import MEMORIES
from tests.simulation.kinds.questions import QUESTIONS
from tests.simulation.kinds.sign_in import SIGN_IN

KINDS = (
    CONSOLIDATION,
    BACKUPS,
    COPIES,
    ARCHIVES,
    ERASURES,
    GARBAGE,
    CONVERSATIONS,
    MEMORIES,
    DIGESTS,
    QUESTIONS,
    SIGN_IN,
    INDEXING,
)
