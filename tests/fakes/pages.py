"""A web of prepared pages, at public addresses that nobody connects to."""

from collections.abc import Mapping

import httpx

from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.web import Web
from tests.fakes.resolver import PUBLIC, FixedResolver


class PreparedWeb:
    """Answers each URL with what was prepared for it; remembers what it was sent."""

    def __init__(
        self, answers: Mapping[str, httpx.Response], *, rules: WebRules | None = None
    ) -> None:
        self._answers = answers
        self.requests: list[httpx.Request] = []
        hosts = {httpx.URL(url).host for url in answers}
        self.http = HttpClient(httpx.MockTransport(self._handle))
        resolver = FixedResolver({host: [PUBLIC] for host in hosts})
        self.web = Web(self.http, rules or WebRules(), resolver)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        found = self._answers[f"{request.url.scheme}://{request.headers['host']}{request.url.path}"]
        # Whoever has read one lets go of what was in it
        return httpx.Response(found.status_code, headers=found.headers, stream=found.stream)


def redirect(location: str, status: int = 302) -> httpx.Response:
    return httpx.Response(status, headers={"location": location}, stream=httpx.ByteStream(b""))


def page(body: bytes = b"hello", kind: str = "text/plain", status: int = 200) -> httpx.Response:
    return httpx.Response(status, headers={"content-type": kind}, stream=httpx.ByteStream(body))
