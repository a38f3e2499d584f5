"""What goes wrong in random histories: actors die, answers get lost, writes and invocations come late or not at all."""

from random import Random

from tests.support.actors import Actor
from tests.support.world import World


class Mishaps:
    """Steps of a history. Who has it says what becomes of actors that have ended (`_bury`)."""

    world: World
    random: Random
    actors: list[Actor]

    def _bury(self) -> None:
        raise NotImplementedError

    def kill(self) -> None:
        if self.actors:
            self.random.choice(self.actors).kill()
            self._bury()

    def lose(self) -> None:
        """The answer to somebody's next write gets lost."""
        if self.actors:
            actor = self.random.choice(self.actors)
            actor.loses = self.random.choice(("again", "again", "for good", "hangs"))
            while not actor.done and actor.loses:
                actor.step()
            self._bury()

    def repeat(self) -> None:
        """A write of before reaches the store once more."""
        sent = self.world.repeatable()
        if sent:
            self.world.repeat(self.random.choice(sent))

    def lose_queued(self) -> None:
        if self.world.queued:
            del self.world.queued[self.random.randrange(len(self.world.queued))]
