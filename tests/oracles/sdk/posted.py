"""A program on loopback that is posted to, as the clients' own examples have one."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Headers by their names in lower case, and the body; the status, and what is answered
Post = Callable[[dict[str, str], bytes], tuple[int, str]]
Get = Callable[[dict[str, str]], tuple[int, str]]


class Program:
    """Answers until it is over."""

    def __init__(self, port: int, post: Post, get: Get | None = None) -> None:
        self.over = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): text for name, text in self.headers.items()}
                self._say(*post(headers, body))

            def do_GET(self) -> None:
                assert get is not None
                self._say(*get(dict(parse_qsl(urlsplit(self.path).query))))

            def _say(self, status: int, text: str) -> None:
                self.send_response(status)
                self.send_header("content-type", "text/plain")
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)

    def run(self) -> None:
        serving = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        serving.start()
        self.over.wait()
        self._server.shutdown()
        serving.join()
        # Joins whoever is still answering
        self._server.server_close()
