"""Two sites on loopback that want everything of a browser: they send, pop up, download and lie.

Whatever arrives is kept, so that a test can say what left the browser.
"""

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A place at home that no page may lead to
HOME = "http://169.254.169.254/latest"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Arrival:
    """One request that arrived."""

    method: str
    path: str
    body: bytes = b""
    wants_socket: bool = False

    @property
    def is_effect(self) -> bool:
        return self.method not in _READING or self.wants_socket


@dataclass
class HostileSite:
    """A site; `pages` may hold {http}://{site}, {http}://{other}, {socket}://{site} and {home}."""

    port: int = 0
    other: int = 0
    scheme: str = "http"
    pages: dict[str, str] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)

    @property
    def spot(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.spot}"

    @property
    def effects(self) -> list[Arrival]:
        return [one for one in self.arrivals if one.is_effect]

    def page(self, path: str) -> str:
        text = self.pages.get(path, "<title>Nothing</title><p>nothing here")
        meant = {
            "site": self.spot,
            "other": f"127.0.0.1:{self.other}",
            "http": self.scheme,
            "socket": "wss" if self.scheme == "https" else "ws",
            "home": HOME,
        }
        for name, place in meant.items():
            text = text.replace("{" + name + "}", place)
        return text


def _handler(site: HostileSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            wants_socket = "upgrade" in (self.headers.get("connection") or "").lower()
            site.arrivals.append(Arrival(self.command, self.path, body, wants_socket))
            other = f"{site.scheme}://127.0.0.1:{site.other}/"
            leads = {"/to-home": HOME, "/to-other": other, "/to-two": "/two"}
            if to := leads.get(self.path):
                self.send_response(302)
                self.send_header("Location", to)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            content = site.page(self.path).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            if self.path == "/download":
                self.send_header("Content-Disposition", "attachment; filename=a.bin")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = _serve  # noqa: N815 - the server's names

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            return

    return Handler


@contextmanager
def hostile_sites(
    pages: Mapping[str, str], tls: ssl.SSLContext | None = None
) -> Iterator[tuple[HostileSite, HostileSite]]:
    """Two sites with the same pages, each of which knows the other; with TLS if there is some."""
    sites = (HostileSite(pages=dict(pages)), HostileSite(pages=dict(pages)))
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(site)) for site in sites]
    for site, server in zip(sites, servers, strict=True):
        site.port = server.server_port
        server.daemon_threads = True
        if tls is not None:
            site.scheme = "https"
            server.socket = tls.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    sites[0].other, sites[1].other = sites[1].port, sites[0].port
    try:
        yield sites
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


# Ways to send something, to get away, or to hold a browser up; each is tried as a page loads
TRICKS: Mapping[str, str] = {
    "fetch": "fetch('/e', {method: 'POST', body: 'x'})",
    "put": "fetch('/e', {method: 'PUT', body: 'x'})",
    "delete": "fetch('/e', {method: 'DELETE'})",
    "request": "let r = new XMLHttpRequest(); r.open('POST', '/e'); r.send('x')",
    "beacon": "navigator.sendBeacon('/e', 'x')",
    "keepalive": "addEventListener('pagehide', () => fetch('/e', {method: 'POST', keepalive: true,"
    " body: 'x'})); setTimeout(() => location.reload(), 50)",
    "beacon at the end": "addEventListener('visibilitychange', () => navigator.sendBeacon('/e'))",
    "elsewhere": "fetch('{http}://{other}/e', {method: 'POST', mode: 'no-cors', body: 'x'})",
    "form": "document.body.innerHTML = '<form method=post action=/e><input name=a value=b></form>';"
    " document.forms[0].submit()",
    "form by click": "document.body.innerHTML = '<form method=post action=/e><button>';"
    " document.querySelector('button').click()",
    "form to a new window": "document.body.innerHTML = '<form method=post action=/e target=_blank>"
    "<button>'; document.forms[0].submit()",
    "form in a frame": "let f = document.createElement('iframe'); f.srcdoc = '<form method=post"
    " action={http}://{site}/e><button></form><script>document.forms[0].submit()</' + 'script>';"
    " document.body.append(f)",
    "form of another site": "let f = document.createElement('iframe');"
    " f.src = '{http}://{other}/form';"
    " document.body.append(f)",
    "socket": "new WebSocket('{socket}://{site}/e')",
    "socket of a frame": "let f = document.createElement('iframe'); document.body.append(f);"
    " new f.contentWindow.WebSocket('{socket}://{site}/e')",
    "socket of a srcdoc": "let f = document.createElement('iframe'); f.srcdoc = '<script>"
    "new WebSocket(\"{socket}://{site}/e\")</' + 'script>'; document.body.append(f)",
    "socket of a frame within": "let f = document.createElement('iframe'); document.body.append(f);"
    " let g = f.contentDocument.createElement('iframe'); f.contentDocument.body.append(g);"
    " new g.contentWindow.WebSocket('{socket}://{site}/e')",
    "socket of a written frame": "let f = document.createElement('iframe');"
    " document.body.append(f); f.contentDocument.open(); f.contentDocument.write('<script>"
    "new WebSocket(\"{socket}://{site}/e\")</' + 'script>'); f.contentDocument.close()",
    "socket of a script address": "document.body.insertAdjacentHTML('beforeend', '<iframe src="
    '"javascript:new WebSocket(`{socket}://{site}/e`)"></iframe>\')',
    "socket of a blob": "let f = document.createElement('iframe'); f.src = URL.createObjectURL("
    "new Blob(['<script>new WebSocket(\"{socket}://{site}/e\")</' + 'script>'],"
    " {type: 'text/html'})); document.body.append(f)",
    "socket of an object": "let o = document.createElement('object'); o.data = 'about:blank';"
    " document.body.append(o);"
    " setTimeout(() => new o.contentWindow.WebSocket('{socket}://{site}/e'), 300)",
    "fetch of a frame": "let f = document.createElement('iframe'); document.body.append(f);"
    " f.contentWindow.fetch('{http}://{site}/e', {method: 'POST', body: 'x'})",
    "worker": "new Worker('/worker.js')",
    "worker of a frame": "let f = document.createElement('iframe'); document.body.append(f);"
    " new f.contentWindow.Worker('/worker.js')",
    "worker of a blob": "new Worker(URL.createObjectURL(new Blob([\"fetch('{http}://{site}/e',"
    " {method: 'POST'})\"])))",
    "service worker": "navigator.serviceWorker.register('/worker.js')",
    "window": "window.open('/form')",
    "window with a form": "let w = window.open('about:blank'); w.document.write('<form method=post"
    " action={http}://{site}/e>'); w.document.forms[0].submit()",
    "many windows": "for (let i = 0; i < 50; i += 1) window.open('/form')",
    "home": "location = '{home}'",
    "home by a picture": "new Image().src = '{home}'",
    "home by a frame": "let f = document.createElement('iframe'); f.src = '{home}';"
    " document.body.append(f)",
    "home by a redirect": "fetch('/to-home', {mode: 'no-cors'})",
    "loopback": "fetch('http://127.0.0.1:1/e', {mode: 'no-cors'})",
    "localhost": "fetch('http://localhost:{port}/e', {method: 'POST', mode: 'no-cors'})",
    "other site": "location = '{http}://{other}/form'",
    "file": "location = 'file:///etc/passwd'",
    "settings": "location = 'chrome://settings'",
    "script address": "location = \"javascript:fetch('/e', {method: 'POST'})\"",
    "data page": "let f = document.createElement('iframe'); f.src = 'data:text/html,<form"
    " method=post action={http}://{site}/e></form><script>document.forms[0].submit()</' +"
    " 'script>'; document.body.append(f)",
    "download": "location = '/download'",
    "download of a blob": "let a = document.createElement('a'); a.download = 'x.bin'; a.href ="
    " URL.createObjectURL(new Blob(['x'.repeat(1e6)])); a.click()",
    "alert": "alert('stop')",
    "confirm": "if (confirm('Send it?')) fetch('/e', {method: 'POST'})",
    "prompt": "if (prompt('Name?') !== null) fetch('/e', {method: 'POST'})",
    "leaving": "addEventListener('beforeunload', (event) => event.preventDefault())",
    "place": "navigator.geolocation.getCurrentPosition(() => fetch('/e', {method: 'POST'}))",
    "camera": "navigator.mediaDevices.getUserMedia({video: true}).then(() => fetch('/e', {method:"
    " 'POST'}))",
    "clipboard": "navigator.clipboard.readText().then(() => fetch('/e', {method: 'POST'}))",
    "ping": 'document.body.innerHTML = \'<a href="#x" ping="/e">x</a>\';'
    " document.querySelector('a').click()",
    "prefetch": "document.head.insertAdjacentHTML('beforeend', '<link rel=prefetch href={home}>"
    "<link rel=preconnect href={http}://{other}><link rel=dns-prefetch href=http://evil.example>')",
    "prerender": "let s = document.createElement('script'); s.type = 'speculationrules'; s.text ="
    " JSON.stringify({prerender: [{urls: ['/form']}], prefetch: [{urls: ['/form']}]});"
    " document.head.append(s)",
    "events": "new EventSource('/e')",
    "policy report": "document.head.insertAdjacentHTML('beforeend', '<meta http-equiv="
    "Content-Security-Policy content=\"img-src none; report-uri /e\">'); new Image().src = '/x'",
    "clobbered names": "document.body.innerHTML = '<form name=body method=post action=/e>"
    "<input name=action><input name=method><button>Go</button></form><img name=documentElement>"
    "<form name=title></form><form name=querySelectorAll></form>'",
    "long title": "document.title = 'x'.repeat(1e7)",
    "long text": "document.body.append('x '.repeat(5e6))",
    "many elements": "for (let i = 0; i < 2e4; i += 1) document.body.append(document.createElement("
    "'button'))",
    "many requests": "for (let i = 0; i < 2000; i += 1) new Image().src = '/i' + i",
    "changing forever": "setInterval(() => fetch('/i' + Math.random()), 20)",
    "reload forever": "setTimeout(() => location.reload(), 30)",
    "history": "for (let i = 0; i < 500; i += 1) history.pushState({}, '', '/h' + i)",
    "print": "print()",
    "full screen": "document.documentElement.requestFullscreen()",
    "pointer": "document.body.requestPointerLock()",
    "own values": "Object.prototype.kind = 'x'; Array.prototype.map = () => []; JSON.stringify ="
    " () => '{}'; Document.prototype.querySelectorAll = () => []",
}
# They hold a page up for as long as its script may: a few are enough
HEAVY: Mapping[str, str] = {
    "endless loop": "for (;;) {}",
    "endless memory": "let a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))",
    "endless dialogs": "for (;;) alert('x')",
}
FURTHER: Mapping[str, str] = {
    "/worker.js": "fetch('/e', {method: 'POST', body: 'x'})",
    "/form": "<form method=post action=/e><input name=a value=b></form>"
    "<script>document.forms[0].submit()</script>",
    "/two": "<title>Two</title><p>the second page</p>",
    "/e": "<title>Done</title><p>taken</p>",
    "/shop": "<title>Shop</title><h1>Basil</h1><a href=/two>More</a>"
    "<form method=post action=/e><input name=name placeholder='Your name'>"
    "<select name=size><option>small<option>large</select>"
    "<input type=password name=word><button>Buy</button></form>"
    "<button id=late onclick=\"this.innerText='Pay twice'\">Pay</button>",
}


def page_with(trick: str, text: str = "Basil is green.") -> str:
    return f"<title>Basil</title><body><p>{text}</p><script>{trick}</script>"
