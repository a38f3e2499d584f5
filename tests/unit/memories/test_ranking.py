"""What is quick about comparing thousands of memories says the same as what is slow."""

from array import array
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from livemem import clock
from livemem.llm import embeddings
from livemem.memories import memory_vectors
from livemem.memories.memory import Memory, Provenance
from livemem.memories.memory_vectors import Rows
from livemem.memories.nearest import best
from livemem.memories.state import State, expired
from tests.support.world import World

NOW = datetime(2026, 2, 20, 14, 0, 0, 123_900, tzinfo=UTC)
near_now = st.integers(-3_000, 3_000).map(lambda micros: NOW + timedelta(microseconds=micros))
moments = st.one_of(
    near_now.map(clock.iso_millis),
    near_now.map(clock.iso),
    near_now.map(lambda moment: moment.isoformat()),
    st.sampled_from(["2026-02-20 13:00:00.000Z", "2026-02-20T15:00:00+02:00", "2026-02-20T14:00:00.123456Z"]),
)


def memory(name: str, expires_at: str | None = None) -> Memory:
    told = clock.iso_millis(NOW)
    return Memory(
        memory_id=name,
        kind="fact",
        content=name,
        created_at=told,
        updated_at=told,
        expires_at=expires_at,
        provenance=Provenance(author="ann"),
    )


@given(st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0])), st.integers(1, 12))
def test_the_best_are_those_with_the_highest_scores_and_of_equal_ones_the_first(scores, count):
    wanted = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:count]
    assert [place for place, _ in best(scores, count)] == wanted
    assert [place for place, _ in best(np.array(scores, dtype=np.float32), count)] == wanted


@given(moments)
def test_what_has_expired_is_told_by_texts_as_by_moments(expires_at):
    gone = clock.parse(expires_at) <= NOW
    # Of a time that is stored in milliseconds nobody knows the rest.
    one = memory("m", expires_at)
    assert expired(one, NOW) == gone
    assert bool(State(1, {"m": one}).alive(NOW)) != gone


@given(st.integers(1, 30), st.data())
def test_cosines_are_the_same_whether_most_or_few_are_asked_for(count, data):
    chance = np.random.default_rng(1)
    vectors = {f"text {place}": chance.standard_normal(8, dtype=np.float32) for place in range(count)}
    rows = Rows()
    rows.add(vectors, 8)
    some = data.draw(st.lists(st.sampled_from(sorted(vectors)), unique=True))
    wanted = chance.standard_normal(8, dtype=np.float32)

    assert np.allclose(rows.cosines(some, wanted), [vectors[text] @ wanted for text in some], atol=1e-5)


def test_who_asks_while_the_first_one_reads_gets_the_same_vectors_and_reads_none_himself():
    world = World(embeddings_api_url="http://embeddings.invalid", embeddings_model="m")
    state = State(1, {name: memory(name) for name in ("one", "two")})
    met, name_of_model = [], embeddings.name(world.settings)

    def embed(texts, *, query, timeout):
        # Another thread of this process asks before anything is there.
        met.append(process.cache(memory_vectors._KnownRows).get("demo", "fact", name_of_model))
        return [array("f", [1.0, 0.0]) for _ in texts]

    process = world.with_parts(embed=embed)

    rows = memory_vectors.of(process, "demo", "fact", state, 2)

    assert [one is rows for one in met] == [True]
    assert len(rows) == 2
