"""An outside provider of sign-in (OpenID Connect) on loopback, which keeps the rules but where a test bends them."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

CLIENT_ID = "live:memory"
"""With a character that a header has to encode."""
SECRET = "s/ecret+"
EMAIL = "Ann@example.org"


@cache
def rsa_key(_: int = 0) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65_537, 2_048)


@cache
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def jwk(key: Any, kid: str, **more: Any) -> dict[str, Any]:
    """The public half as the provider publishes it."""
    algorithm: Any = ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else RSAAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": kid, "use": "sig", **more}


@dataclass
class OidcServer:
    """`configuration`, `claims` and `more` (of userinfo) go over what is usual; None removes."""

    issuer: str = ""
    configuration: dict[str, Any] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=lambda: [jwk(rsa_key(), "k1", alg="RS256")])
    claims: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    sign: Callable[[dict[str, Any]], str] = lambda claims: jwt.encode(claims, rsa_key(), "RS256", {"kid": "k1"})
    broken: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Answers of paths instead of the right ones."""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Paths with their forms."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def let_in(self, url: str, **answer: str) -> dict[str, str]:
        """What comes back with a person who was sent to this URL and signs in."""
        sent = dict(parse_qsl(urlsplit(url).query))
        assert url.startswith(f"{self.issuer}/authorize?"), url
        assert (sent["response_type"], sent["client_id"], sent["code_challenge_method"]) == (
            "code",
            CLIENT_ID,
            "S256",
        ), url
        code = f"code-{len(self.codes)}"
        self.codes[code] = sent
        return {"code": code, "state": sent["state"], "iss": self.issuer, **answer}

    def document(self) -> dict[str, Any]:
        return known(
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "id_token_signing_alg_values_supported": ["RS256"],
                "authorization_response_iss_parameter_supported": True,
                **self.configuration,
            }
        )

    def issue(self, form: Mapping[str, str], authorization: str) -> tuple[int, Any]:
        sent = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if form.get("grant_type") != "authorization_code":
            return 400, {"error": "unsupported_grant_type"}
        if not sent or sent["code_challenge"] != challenge or sent["redirect_uri"] != form["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if not self.knows(form, authorization):
            return 401, {"error": "invalid_client"}
        now = int(time.time())
        usual = {"iss": self.issuer, "sub": "ann-1", "aud": CLIENT_ID, "iat": now, "exp": now + 300}
        who = {"nonce": sent["nonce"], "email": EMAIL, "email_verified": True}
        token = self.sign(known({**usual, **who, **self.claims}))
        return 200, {"access_token": "at", "token_type": "Bearer", "id_token": token}

    def knows(self, form: Mapping[str, str], authorization: str) -> bool:
        """Whether the client has shown its secret, in the header or the form."""
        if not authorization:
            return form.get("client_secret") == SECRET
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        return (unquote_plus(pair[0]), unquote_plus(pair[2])) == (CLIENT_ID, SECRET)


def known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@contextmanager
def providing() -> Iterator[OidcServer]:
    """A running provider."""
    server = OidcServer()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
            pass

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length", "0"))
            form = dict(parse_qsl(self.rfile.read(size).decode()))
            path = urlsplit(self.path).path
            server.asked.append((path, form))
            if path in server.broken:
                status, body = server.broken[path]
            else:
                status, answer = self.answer(path, form)
                body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Location", f"{server.issuer}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name is http.server's

        def answer(self, path: str, form: dict[str, str]) -> tuple[int, Any]:
            authorization = self.headers.get("Authorization", "")
            match path:
                case "/.well-known/openid-configuration":
                    return 200, server.document()
                case "/jwks":
                    return 200, {"keys": server.keys}
                case "/token":
                    return server.issue(form, authorization)
                case "/userinfo" if authorization == "Bearer at":
                    return 200, {"sub": "ann-1", **server.more}
            return 404, {}

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.issuer = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def query(came: Mapping[str, str]) -> str:
    return urlencode(came)
