"""Clients that sign in: a code makes one grant at most, a lost answer loses no grant, and an ended grant stays
ended. No token and no code is ever in the bucket. A client is never taken for another one whose document has the same
place, and whom the outside provider names can choose.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from json import dumps
from typing import Any

from livemem.access.grant import grant_of
from livemem.access.registry import Registry
from livemem.errors import LiveMemoryError, Unauthenticated
from livemem.process import Process
from livemem.signin import connections, consent, exchange, grant_expiry, wrong_tokens
from livemem.signin import person as people
from livemem.signin.exchange import Issued
from livemem.signin.refusal import Refused
from livemem.store.bucket import GRANT, OAUTH, TOKENS
from tests.simulation.pairs import Pair, cut, echoed, late, lost, together
from tests.simulation.scene import Action, Kind, Sampled, Scene
from tests.support.counting import READS
from tests.support.mcp import token
from tests.support.signing_in import CALLBACK, CHALLENGE, ISSUER, VERIFIER
from tests.support.world import EVERYONE, World

PERSON = "lm_" + "p" * 43
CODE, TICKET, NONCE = "c" * 43, "t" * 43, "n" * 43
RESOURCE = f"{ISSUER}/mcp"
CLIENT = consent.register({"client_name": "Claude", "redirect_uris": [CALLBACK]})
REQUEST = consent.AuthorizationRequest(CLIENT.client_id, CALLBACK, "s", ("read", "write"), RESOURCE, CHALLENGE)
EMAIL = "ann@example.org"
CLAIMS = {"sub": "1", "email": EMAIL, "email_verified": True}
PUBLISHED = {
    url: dumps({"client_id": url, "client_name": name, "redirect_uris": [f"{url[: -len('client.json')]}back"]}).encode()
    for url, name in (("https://c2.example/client.json", "Two"), ("https://c25.example/client.json", "Twenty-five"))
}
"""Documents that have one place in the bucket."""
TWO, TWENTY_FIVE = PUBLISHED
TWO_GRANTS, LOST, ALIVE, SECRET, OTHER = "two grants", "lost", "alive after its end", "secret", "another one"
GUESSED = "guessed"
WEEK = 8 * 86_400


class SignInWorld(World):
    """A service with sign-in."""

    def __init__(self, inner: Any = None, **settings: Any) -> None:
        super().__init__(inner, **{"oauth_issuer": ISSUER, **settings})

    def with_parts(self, **parts: Any) -> Process:
        return super().with_parts(**{"fetch_document": PUBLISHED.__getitem__, **parts})


class SignInScene(Scene):
    """`redeems`: how often somebody began to redeem the code. `got`: what was issued, in order. `ended`: that the grant
    was ended, as somebody was told. `taken`: for which client another one was taken. `named`: whom the provider named.
    `guesses`: wrong tokens that somebody was told to be wrong.
    """

    world_type = SignInWorld
    unconditional = (*READS.values(), "DELETE")

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.redeems: list[int] = []
        self.first: list[Issued] = []
        self.got: list[Issued] = []
        self.endings: list[int] = []
        self.ended: list[int] = []
        self.taken: list[str] = []
        self.named: list[people.Shown] = []
        self.guesses: list[int] = []

    def seen(self) -> list[str]:
        return [*self._wrong_tokens()]

    def rest(self) -> list[str]:
        """The client refreshes once more, and a week passes, in which the sweep comes by."""
        found = [*self._wrong_grants(), *self._wrong_tokens(), *self._wrong_clients(), *self._wrong_people()]
        self.world.pass_time(WEEK)
        grant_expiry.expire(self.world.new_process())
        return [*found, *self._wrong_end()]

    def _wrong_tokens(self) -> Iterator[str]:
        objects = self.world.inner.objects
        everything = b"".join(key.encode() + one.body for key, one in objects.items())
        secrets = [PERSON, CODE, TICKET, NONCE]
        secrets += [one.ticket for one in self.named]
        secrets += [text.split("_", 2)[2] for one in self.got for text in (one.access_token, one.refresh_token)]
        for secret in secrets:
            if secret.encode() in everything:
                yield f"{SECRET}: {secret[:8]} is in the bucket"

    def _wrong_clients(self) -> Iterator[str]:
        """Whoever was found is who was asked for, also by a process that has not read anything yet."""
        for url in PUBLISHED:
            known(self, self.world.with_parts(), url)
        yield from (f"{OTHER}: {one}" for one in self.taken)
        if len(self.guesses) > wrong_tokens.FOR_A_REQUEST:
            yield f"{GUESSED}: {len(self.guesses)} tokens were tried for one request"

    def _wrong_people(self) -> Iterator[str]:
        """Who was named and told so can allow the client."""
        for one in self.named:
            try:
                consent.holder(self.world.new_process(), REQUEST, NONCE, one.ticket)
            except Unauthenticated:
                yield f"{LOST}: a ticket leads nowhere"

    def _wrong_grants(self) -> Iterator[str]:
        if len(set(self.first)) > 1:
            yield f"{TWO_GRANTS}: of one code"
        works = self._works()
        if len(self.redeems) > 1 and len(self.first) and works and self._redeemed_again():
            yield f"{ALIVE}: its code came again"
        if self.ended and works:
            yield f"{ALIVE}: somebody was told so"
        if self.got and not self.endings and len(self.redeems) == 1 and not works:
            yield f"{LOST}: nobody has ended it"

    def _redeemed_again(self) -> bool:
        """Whether the code comes again now, after the grant was made."""
        try:
            redeem(self, self.world.new_process(), self.world.clock())
        except LiveMemoryError:
            return self._works()
        return True

    def _works(self) -> bool:
        """Whether the client can refresh what it got last."""
        if not self.got:
            return False
        try:
            exchange.refresh(self.world.new_process(), self.got[-1].refresh_token, client_id=CLIENT.client_id)
        except Refused:
            return False
        return True

    def _wrong_end(self) -> Iterator[str]:
        left = self.world.keys(OAUTH)
        passing = [key for key in left if not key.startswith(GRANT.prefix())]
        if passing:
            yield f"{LOST}: {passing[0]} was not removed"


def a_token(scene: Scene) -> None:
    """A person with a token, a space, and a client that asks."""
    entry = token(PERSON, "read", "write").model_copy(update={"email": EMAIL})
    scene.world.inner.put_object(Bucket="bucket", Key=TOKENS, Body=Registry(tokens=[entry]).to_bytes())
    scene.world.new_process()


def show(scene: Scene, process: Process, until: datetime) -> None:
    with wrong_tokens.counted(process, REQUEST.digest(NONCE), "8.8.8.8"):
        consent.show_token(process, REQUEST, NONCE, PERSON, TICKET)


def guess(scene: SignInScene, process: Process, until: datetime) -> None:
    try:
        with wrong_tokens.counted(process, REQUEST.digest(NONCE), "8.8.8.8"):
            consent.show_token(process, REQUEST, NONCE, "lm_wrong", TICKET)
    except Unauthenticated:
        scene.guesses.append(1)


def guessed(scene: SignInScene) -> None:
    """One guess is left."""
    a_token(scene)
    for _ in range(wrong_tokens.FOR_A_REQUEST - 1):
        guess(scene, scene.world.process, scene.world.clock())


def name_by_provider(scene: SignInScene, process: Process, until: datetime) -> None:
    scene.named += people.show_person(process, REQUEST, NONCE, CLAIMS, lambda: process.new_id() * 2)


def known(scene: SignInScene, process: Process, url: str) -> None:
    client = consent.find(process, url)
    if (client.client_id, client.redirect_uris) != (url, (f"{url.removesuffix('client.json')}back",)):
        scene.taken.append(f"{client.name} for {url}")


def look_up(url: str) -> Callable[[SignInScene, Process, datetime], None]:
    return lambda scene, process, until: known(scene, process, url)


def aged(scene: SignInScene) -> None:
    """The documents of both were fetched, and the last one is too old."""
    for url in PUBLISHED:
        known(scene, scene.world.process, url)
    scene.world.pass_time(3_600)
    scene.world.new_process()


def allow(scene: Scene, process: Process, until: datetime) -> None:
    consent.approve(process, REQUEST, NONCE, TICKET, scope=["read"], space_ids=["demo"], code=CODE)


def redeem(scene: SignInScene, process: Process, until: datetime) -> None:
    scene.redeems.append(1)
    issued = exchange.redeem(
        process,
        CODE,
        client_id=CLIENT.client_id,
        redirect_uri=CALLBACK,
        verifier=VERIFIER,
        new_secret=lambda: process.new_id() * 2,
    )
    scene.first.append(issued)
    scene.got.append(issued)


def refresh(scene: SignInScene, process: Process, until: datetime) -> None:
    issued = exchange.refresh(process, scene.first[-1].refresh_token, client_id=CLIENT.client_id)
    scene.got.append(issued)


def sign_out(scene: SignInScene, process: Process, until: datetime) -> None:
    scene.endings.append(1)
    exchange.revoke(process, scene.first[-1].access_token)
    scene.ended.append(1)


def end(scene: SignInScene, process: Process, until: datetime) -> None:
    scene.endings.append(1)
    connections.end(process, EVERYONE, str(grant_of(scene.first[-1].access_token)))
    scene.ended.append(1)


def expire(scene: Scene, process: Process, until: datetime) -> None:
    grant_expiry.expire(process)


def shown(scene: Scene) -> None:
    a_token(scene)
    show(scene, scene.world.process, scene.world.clock())


def allowed(scene: Scene) -> None:
    shown(scene)
    allow(scene, scene.world.process, scene.world.clock())


def redeemed(scene: Any) -> None:
    allowed(scene)
    redeem(scene, scene.world.process, scene.world.clock())


REDEEM = Action("redeem", redeem, allowed)
REFRESH = Action("refresh", refresh, redeemed)
SIGN_OUT = Action("signing out", sign_out, redeemed)
END = Action("end", end, redeemed)
EXPIRE = Action("expiry", expire, redeemed)
GUESS = Action("a guess", guess, guessed)
NAME = Action("a person is named by the provider", name_by_provider, a_token)
PUBLISH, PUBLISH_OTHER = (Action(f"document {number}", look_up(url)) for number, url in enumerate(PUBLISHED))
FETCH_AGAIN = Action("an old document", look_up(TWO), aged)
after_consent = partial(Pair, before=allowed)
of_a_grant = partial(Pair, before=redeemed)
PAIRS = (
    after_consent(REDEEM, REDEEM, (late, lost, echoed, together)),
    after_consent(REDEEM, EXPIRE, (late, cut)),
    of_a_grant(REFRESH, REFRESH, (late, lost, echoed, together)),
    of_a_grant(REFRESH, SIGN_OUT, (late, lost, cut)),
    of_a_grant(REFRESH, END, (late, lost, cut)),
    of_a_grant(REFRESH, REDEEM, (late, lost, cut)),
    of_a_grant(END, REFRESH, (late, lost, cut)),
    of_a_grant(SIGN_OUT, SIGN_OUT, (lost, together)),
    of_a_grant(SIGN_OUT, EXPIRE, (late, cut)),
    Pair(GUESS, GUESS, (late, lost, echoed, together)),
    Pair(NAME, NAME, (late, lost, echoed, together)),
    Pair(PUBLISH, PUBLISH, (late, lost, echoed, together)),
    Pair(PUBLISH, PUBLISH_OTHER, (late, lost, echoed, cut, together)),
    Pair(FETCH_AGAIN, PUBLISH_OTHER, (late, lost, echoed, cut, together), before=aged),
)
SIGN_IN = Kind(
    "sign-in",
    SignInScene,
    (
        Action("a token is shown", show, a_token),
        Action("a client is allowed", allow, shown),
        Action("a code is redeemed", redeem, allowed),
        Action("a token is refreshed", refresh, redeemed),
        Action("a client signs out", sign_out, redeemed),
        Action("a connection is ended", end, redeemed),
        Action("what is over is removed", expire, redeemed),
        GUESS,
        NAME,
        PUBLISH,
        FETCH_AGAIN,
    ),
    PAIRS,
    columns=(TWO_GRANTS, LOST, ALIVE, SECRET, OTHER, GUESSED),
    sampled=Sampled(kills=7, turns=5),
)
