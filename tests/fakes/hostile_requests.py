"""A hundred hostile requests: each as bytes, by what it tries; `SESSION` stands for a real cookie.

The ones with a real session are another site's, or a program's, that has a visitor's browser send
what the visitor never meant.
"""

from collections.abc import Iterator

from agent.console.guards import MAX_BODY_BYTES
from agent.console.request import form_token

HOST = "127.0.0.1:PORT"
FORM = "content-type: application/x-www-form-urlencoded"
OWN = "origin: http://127.0.0.1:PORT"
COOKIE = "cookie: barnacle_session=SESSION"
# What a form of a visitor's own page would carry, which nobody else knows
TOKEN = "token=TOKEN"

# What only somebody who was let in may see, and what lies beside the console
SECRETS = ("PC13", "simulated", "board_gpio_write", "owner", "root:", "import ", "tgz", "telegram")
_DOOR = "D" * 43

_TRAVERSALS = (
    *("/static/../pages.py", "/static/..%2f..%2fpages.py", "/static/%2e%2e/%2e%2e/etc/passwd"),
    *("/../../etc/passwd", "//etc/passwd", "/static//etc/passwd", "/static/vendor/htmx.min.js"),
    *("/static/....//....//etc/passwd", "/static/..\\..\\pages.py", "/static/%00console.css"),
    *("/static/console.css%00.py", "/%2e%2e/board", "/board/../home", "/board%2f", "/.git/config"),
    *("/barnacle.toml", "/people.json", "/templates/home.html", "/static/", "/proc/self/environ"),
    *("/static/%c0%ae%c0%ae/pages.py", "/static/..;/pages.py", "http://evil.example/board"),
)
_STRANGERS_PAGES = (
    *("/board", "/chat", "/readings", "/jobs", "/memory", "/audit", "/people", "/more", "/live"),
    *("/live?page=board", "/admin", "/api/board", "/metrics"),
)
_HOSTS = (
    *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "a@127.0.0.1"),
    *("127.0.0.1:PORT\r\nhost: evil.example", "evil.example:PORT", "0x7f000001", "127.1"),
)
_ORIGINS = (
    *("origin: http://evil.example", "origin: null", "origin: http://127.0.0.1", "x-origin: a"),
    *("origin: http://127.0.0.1:PORT.evil.example", "origin: file://", "origin: http://localhost"),
    f"{OWN}\r\norigin: http://evil.example",
)
_COOKIES = (
    *("barnacle_session=", "barnacle_session=' OR 1=1", f"barnacle_session={'A' * 43}"),
    *(f"barnacle_session={'A' * 8000}", "barnacle_session=SESSION; barnacle_session=SESSION"),
    *(f"barnacle_session={'A' * 43}; barnacle_session=SESSION", "barnacle_door=SESSION"),
    *("BARNACLE_SESSION=SESSION", "barnacle_session=SESSION%00", "barnacle_session=../people.json"),
)


def requests() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each."""
    for path in _TRAVERSALS:
        yield f"traversal {path}", get(path)
    for path in _STRANGERS_PAGES:
        yield f"stranger {path}", get(path)
    for host in _HOSTS:
        yield f"rebinding {host!r}", get("/board", COOKIE, host=host)
    for origin in _ORIGINS:
        yield f"cross-origin {origin!r}", post("/stop", TOKEN, COOKIE, FORM, origin)
    for cookie in _COOKIES:
        yield f"cookie {cookie[:50]}", get("/board", f"cookie: {cookie}")
    yield from _forgeries()
    yield from _smuggling()
    yield from _sizes()
    yield from _codes()


def filled(text: str, session: str, port: int) -> bytes:
    """Return the request with a real session's cookie and token, and the length of what it has."""
    for mark, value in (
        ("DOORTOKEN", form_token(_DOOR)),
        ("TOKEN", form_token(session)),
        ("DOOR", _DOOR),
        ("SESSION", session),
        ("PORT", str(port)),
    ):
        text = text.replace(mark, value)
    head, gap, body = text.partition("\r\n\r\n")
    if head.count("content-length: ") == 1 and body and "chunked" not in head:
        lines = [
            f"content-length: {len(body)}" if line.startswith("content-length: ") else line
            for line in head.split("\r\n")
        ]
        head = "\r\n".join(lines)
    return (head + gap + body).encode("latin-1")


def is_through(status: int, text: str) -> bool:
    """Return true for an answer that serves, or shows what is nobody else's."""
    # The door's own page says how to come in; those words tell nothing of this device
    said = text.replace("ask its owner", "").replace("let the owner", "")
    return 200 <= status <= 399 or any(one in said for one in SECRETS)


def get(path: str, *headers: str, host: str = HOST, method: str = "GET") -> str:
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}", *headers, "connection: close", "", ""]
    return "\r\n".join(lines)


def post(path: str, body: str, *headers: str) -> str:
    lines = [f"POST {path} HTTP/1.1", f"host: {HOST}", *headers, f"content-length: {len(body)}"]
    # The placeholders are replaced by what is longer: the length is set right with them
    return "\r\n".join([*lines, "connection: close", "", body])


def _forgeries() -> Iterator[tuple[str, str]]:
    for path in ("/say", "/stop", "/release", "/answer", "/break", "/leave", "/revoke"):
        yield f"no token {path}", post(path, "text=hi", COOKIE, FORM, OWN)
    yield "wrong token", post("/say", f"token={'0' * 32}&text=hi", COOKIE, FORM, OWN)
    yield "empty token", post("/say", "token=&text=hi", COOKIE, FORM, OWN)
    yield "token without a session", post("/say", f"{TOKEN}&text=hi", FORM, OWN)
    kinds = ("text/plain", "application/json", "multipart/form-data; boundary=x")
    for kind in kinds:
        yield f"a form as {kind}", post("/stop", TOKEN, COOKIE, OWN, f"content-type: {kind}")
    yield "by GET", get("/stop", COOKIE)
    yield "by GET with the form", get("/say?token=TOKEN&text=hi", COOKIE)
    yield "override", get("/stop", COOKIE, "x-http-method-override: POST")
    for method in ("PUT", "DELETE", "TRACE", "CONNECT", "OPTIONS"):
        yield f"method {method}", get("/board", COOKIE, method=method)
    site = ("sec-fetch-site: cross-site", "sec-fetch-mode: no-cors")
    yield "fetched by another site", get("/live?page=board", COOKIE, *site)
    yield "framed by another site", get("/live", COOKIE, site[0], "sec-fetch-mode: navigate")
    yield "posted by another site", post("/stop", TOKEN, COOKIE, FORM, OWN, *site)


def _smuggling() -> Iterator[tuple[str, str]]:
    inner = post("/stop", TOKEN, COOKIE, FORM, OWN)
    chunks = f"0\r\n\r\n{inner}"
    both = (COOKIE, FORM, OWN, "transfer-encoding: chunked")
    yield "length and chunks", post("/break", chunks, *both)
    yield "chunks alone", "\r\n".join(["POST /say HTTP/1.1", f"host: {HOST}", *both, "", chunks])
    yield "two lengths", post("/say", "a", COOKIE, FORM, OWN, "content-length: 400")
    yield "a length with a sign", get("/say", COOKIE, FORM, "content-length: +4", method="POST")
    yield "a space before a colon", get("/board", "transfer-encoding : chunked", COOKIE)
    yield "a folded header", get("/board", "x: a\r\n cookie: barnacle_session=SESSION")
    yield "a line feed alone", get("/board", COOKIE).replace("\r\n", "\n") + "\x00"
    yield "a NUL in a header", get("/board", f"{COOKIE}\x00")
    yield "no host", "GET /board HTTP/1.1\r\ncookie: barnacle_session=SESSION\r\n\r\n"
    yield "an old version", "GET /board HTTP/0.9\r\n\r\n"
    yield "no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n"
    yield "upgrade", get("/live", COOKIE, "upgrade: websocket", "connection: upgrade")
    yield "a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def _sizes() -> Iterator[tuple[str, str]]:
    yield "a long path", get(f"/{'a' * 5000}", COOKIE)
    yield "a long query", get(f"/readings?name={'a' * 5000}", COOKIE)
    yield "a long header", get("/board", COOKIE, f"x: {'a' * 100_000}")
    yield "many headers", get("/board", COOKIE, *(f"x{n}: a" for n in range(5000)))
    length = f"content-length: {MAX_BODY_BYTES + 1}"
    yield "a long body that is announced", get("/say", COOKIE, FORM, OWN, length, method="POST")
    fields = "&".join([TOKEN, *(f"f{number}=1" for number in range(500))])
    yield "many fields", post("/say", fields, COOKIE, FORM, OWN)
    yield "no fields at all", post("/say", "%ff%fe%00", COOKIE, FORM, OWN)


def _codes() -> Iterator[tuple[str, str]]:
    door = "cookie: barnacle_door=DOOR"
    for code in ("", "AAAAA-AAAAA", "' OR 1=1 --", "/pair new owner", "%00", "a" * 5000):
        body = f"token=DOORTOKEN&code={code}"
        yield f"code {code[:20]!r}", post("/door/enter", body, door, FORM, OWN)
