"""Notes of another space that are promoted into one with a bank, and taken back: each promotion has one copy, and none
comes back.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from livemem.changes.records import Record
from livemem.process import Process
from livemem.promotions import promoting, taking_back
from livemem.promotions.promotion import Promotion
from livemem.store import keys, promotion_keys
from tests.simulation.kinds import bank
from tests.simulation.kinds.bank import COLUMNS, DELETE, ORDERED_RUN, POST, REPEATED, STALL, SWEEP, BankScene
from tests.simulation.pairs import Pair, cut, echoed, late, lost, together
from tests.simulation.scene import SPACE, Action, Kind, Sampled
from tests.support.audit import records_of, standing
from tests.support.world import EVERYONE

SOURCE = "other"
COPIES = "copies"
DOUBLED = "doubled: 'promoted' in "
PROMOTED = b'"promotion": "'


class PromotionScene(BankScene):
    """`brought_back`: how often somebody has begun to promote, or to undo a change. `gone_since`: how often before the
    promotion was taken back.
    """

    def __init__(self, world: bank.World) -> None:
        super().__init__(world)
        self.brought_back = 0
        self.gone_since: int | None = None

    def rest(self) -> list[str]:
        found = [*super().rest(), *self._wrong_copies()]
        # One that was taken back is in a record, and the next copy says the same.
        return [one for one in found if self._attempts() < 2 or not one.startswith((DOUBLED, REPEATED))]

    def _attempts(self) -> int:
        objects = self.world.inner.objects
        told = [one for key, one in objects.items() if promotion_keys.parse_promotion(key)]
        return sum(Promotion.from_bytes(one.body).attempt for one in told)

    def _wrong_copies(self) -> Iterator[str]:
        objects = self.world.inner.objects
        records = records_of(objects, SPACE)
        live = [key for key, one in objects.items() if key.startswith(keys.live_prefix(SPACE)) and PROMOTED in one.body]
        found = {*live, *_copies(records)}
        if len(found) > self._attempts():
            yield f"{COPIES}: {len(found)} of {self._attempts()}"
        left = [*live, *_copies(record for record in standing(records) if record.folds())]
        if self.gone_since == self.brought_back and left:
            yield f"{COPIES}: {left}, which was taken back"


def _copies(records: Iterable[Record]) -> set[str]:
    """The keys that the promoted notes in these records had."""
    sources = (source for record in records for source in record.notes)
    return {keys.note(SPACE, source.note_id) for source in sources if PROMOTED in source.body()}


def _promotion(scene: BankScene) -> tuple[str, str]:
    """The note that is promoted, and the id of its promotion."""
    reader = scene.world.with_parts()
    (source,) = scene.world.live_ids(SOURCE)
    uids = [bank.heads.load(reader, one).meta.uid for one in (SOURCE, SPACE)]
    return source, promotion_keys.id_of(uids[0], source, uids[1])


def promote(scene: PromotionScene, process: Process, until: datetime) -> None:
    scene.brought_back += 1
    (source,) = scene.world.live_ids(SOURCE)
    done = promoting.promote(process, EVERYONE, SOURCE, source, SPACE, until)
    scene.accepted([done.copy])


def take_back(scene: PromotionScene, process: Process, until: datetime) -> None:
    before = scene.brought_back
    _, promotion_id = _promotion(scene)
    taking_back.take_back(process, EVERYONE, SPACE, promotion_id)
    scene.gone_since = before


def undo(scene: PromotionScene, process: Process, until: datetime) -> None:
    scene.brought_back += 1
    bank.undo(scene, process, until)


PROMOTE = Action("promotion", promote)
TAKE_BACK = Action("taking back", take_back)
UNDO = Action("undo", undo)


def two_spaces(scene: BankScene) -> None:
    """A space with a bank and a live note, and another one with a note."""
    scene.size = 2
    scene.create()
    scene.fold()
    scene.world.create_space(SOURCE)
    scene.world.note("promoted", space_id=SOURCE)
    scene.write(1)


def promoted(scene: BankScene) -> None:
    bank.after(two_spaces, PROMOTE)(scene)


def taken_back(scene: BankScene) -> None:
    bank.after(promoted, TAKE_BACK)(scene)


PAIRS = (
    Pair(PROMOTE, PROMOTE, (late, lost, together), two_spaces),
    Pair(PROMOTE, ORDERED_RUN, (late, lost, cut), two_spaces),
    Pair(PROMOTE, TAKE_BACK, (late, echoed), two_spaces),
    Pair(PROMOTE, DELETE, (late, cut), two_spaces),
    Pair(TAKE_BACK, TAKE_BACK, (lost, cut), promoted),
    Pair(TAKE_BACK, ORDERED_RUN, (late, cut), promoted),
    Pair(ORDERED_RUN, TAKE_BACK, (late, cut), promoted),
    Pair(ORDERED_RUN, TAKE_BACK, (cut,), promoted, gap=STALL, name="stalled run & taking back"),
    Pair(TAKE_BACK, PROMOTE, (late, lost, cut), promoted),
    Pair(TAKE_BACK, UNDO, (late, lost), promoted),
    Pair(TAKE_BACK, POST, (late,), promoted),
    Pair(TAKE_BACK, SWEEP, (echoed, cut), promoted),
    Pair(PROMOTE, UNDO, (late, cut), taken_back),
)
PROMOTIONS = Kind(
    "promotions",
    PromotionScene,
    (
        Action("a note is promoted", promote, two_spaces),
        Action("a promotion is taken back", take_back, promoted),
        Action("a note is promoted again", promote, taken_back),
    ),
    PAIRS,
    columns=(*COLUMNS, REPEATED, COPIES),
    sampled=Sampled(requests=5, turns=5),
)
