"""All kinds of work: what is new on a space is named here, and kills, pairs and histories know it."""

from tests.simulation.kinds.consolidation import CONSOLIDATION
from tests.simulation.kinds.conversations import CONVERSATIONS
from tests.simulation.kinds.digests import DIGESTS
from tests.simulation.kinds.memories import MEMORIES

KINDS = (CONSOLIDATION, MEMORIES, CONVERSATIONS, DIGESTS)
