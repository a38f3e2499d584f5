"""Consolidations that come fast, and the indexers that they ask for: no indexer fails because of others, each text gets
its vector, and nothing is left to do.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from livemem.conversations import removal
from livemem.errors import LiveMemoryError, StoreUnavailable
from livemem.jobs.lease import LeaseTaken
from livemem.process import Process
from livemem.recall import indexing, search
from livemem.recall.document_sources import sources
from livemem.recall.search_request import SearchRequest
from livemem.search import segments
from livemem.search.segments import Segments
from livemem.spaces import head as heads
from livemem.store.bucket import NOTE, SEARCH_ORDER
from tests.simulation.choices import chance
from tests.simulation.histories import History, Step
from tests.simulation.scene import SPACE, Kind, Sampled, Scene
from tests.support.actors import take_turn
from tests.support.searching import MODEL, URL, Embedder
from tests.support.world import INVOCATION, Invocation, World

DIMENSIONS = 16
ROUNDS = 30
"""More searches than it takes until all texts have vectors."""
FAST = 14
"""Consolidations of one space, one directly after the other."""
FAILED = "an indexer failed"


class TurnTaking(Embedder):
    """A model whose calls take a while."""

    def __call__(self, texts: Sequence[str], *, query: bool, timeout: float) -> Any:
        take_turn()
        return super().__call__(texts, query=query, timeout=timeout)


class IndexedWorld(World):
    """A world whose processes have an embedding model, and whose indexers are invoked like all other functions."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(embeddings_api_url=URL, embeddings_model=MODEL, **settings)

    def with_parts(self, **parts: Any) -> Process:
        return super().with_parts(**{"embed": TurnTaking(DIMENSIONS), **parts})

    def enqueue(self, function: Any, payload: Any) -> None:
        if function == "indexer":
            self.queued.append(Invocation(payload, self.clock()))
        else:
            super().enqueue(function, payload)

    def work(self, payload: Any = None, process: Process | None = None, until: datetime | None = None) -> Any:
        todo = payload or self.queued.popleft()
        if "job_id" in todo:
            return super().work(todo, process, until)
        return indexing.index(process or self.process, SPACE, until or self.clock() + INVOCATION, todo.delivery)

    def fold(self) -> None:
        """Consolidate what is there, at once; only the invocation of the indexer is left."""
        self.order(SPACE)
        self.work(self.queued.pop())


class IndexedScene(Scene):
    """A space whose consolidations ask for indexers."""

    world_type = IndexedWorld
    world: IndexedWorld

    def create(self) -> None:
        """The space, without a threshold."""
        self.world.create_space(SPACE, threshold=0)

    def fold(self, texts: int = 2) -> None:
        """Notes are written and consolidated."""
        for _ in range(texts):
            self.world.note(f"Note number {self.world.ids.count}.", space_id=SPACE)
            self.world.clock.move(1)
        self.world.fold()

    def rest(self) -> list[str]:
        """What was asked for is done, then somebody searches, which asks for more where something is missing."""
        world = self.world
        world.settle()
        for _ in range(ROUNDS):
            if not (wrong := list(self.wrong())):
                return []
            world.pass_time(100)
            search.search(world.new_process(), SPACE, SearchRequest.of("note"))
            world.do_background()
            world.settle()
        return wrong

    def wrong(self) -> Iterator[str]:
        """Texts without vectors, and work that is left."""
        process = self.world.with_parts()
        with search.viewing(process, heads.load(process, SPACE).meta) as view:
            view.follow(process.store, sources(process, SPACE, whole=True), lambda: True)
            names = set(view.shape().hashes)
        kept = Segments(SPACE, MODEL)
        kept.follow(process.store)
        if gaps := names - kept.stored(DIMENSIONS):
            yield f"gaps: {len(gaps)} of {len(names)} texts have no vector"
        if kept.small(DIMENSIONS):
            yield f"segments: {len(kept.names)} are not merged"
        if orders := self.world.keys(SEARCH_ORDER.prefix(SPACE)):
            yield f"left: {orders}"


class IndexHistory(History):
    """Consolidations and indexers of one space side by side, searches, and orders to forget. Calm ones: nothing is
    lost, so no search has to find what is missing.
    """

    most_actors = 8
    length = (6, 20)
    times = (1, 1, 5, 20, 70)

    @classmethod
    def begin(cls, scene: IndexedScene, place: int) -> None:
        scene.create()

    def first(self) -> None:
        self.failed: list[str] = []
        for _ in range(FAST):
            self.scene.fold()
            if chance(self.choices, 70):
                self.deliver()

    def steps(self) -> list[Step]:
        return [(self.scene.fold, 3), (self.deliver, 8), *([] if self.calm else [(self.search, 3), (self.forget, 2)])]

    def search(self) -> None:
        ask = partial(search.search, space_id=SPACE, request=SearchRequest.of("note"))
        self.spawn("reader", lambda process, until: ask(process))

    def forget(self) -> None:
        """A note is removed, and what is known of it is to be forgotten."""
        self.world.note(f"Note number {self.world.ids.count}.", space_id=SPACE)
        live = [key for key in self.world.keys(NOTE.prefix(SPACE)) if NOTE.parse(key)]
        self.world.inner.delete_object(Bucket="b", Key=live[0])
        order = str(self.world.ids.count)
        self.spawn("eraser", lambda process, until: removal.forget(process, SPACE, order))

    def work(self, invocation: Invocation, process: Process, until: datetime) -> Any:
        try:
            return super().work(invocation, process, until)
        except (LeaseTaken, StoreUnavailable):
            # Its former try is dead, and it is tried again; or the store does not answer.
            raise
        except LiveMemoryError as error:
            self.failed.append(f"{FAILED}: {error}")
            raise

    def end(self) -> list[str]:
        if not self.calm:
            return self.failed + self.scene.rest()
        self.world.settle()
        return self.failed + list(self.scene.wrong())


INDEXING = Kind(
    "indexing",
    IndexedScene,
    histories=(IndexHistory,),
    columns=(FAILED, "gaps", "segments", "left"),
    small=((indexing, "TEXTS", 3), (indexing, "LOOK_TEXTS", 6), (segments, "MOST", 6)),
    sampled=Sampled(histories=3),
)
