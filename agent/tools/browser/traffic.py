"""Rules for the requests of a page: where they may go, and when they may send.

The browser is let out only while a call runs, only to places in the owner's rules, and only to
those that one of its requests was let through to. Where a rule compares URLs, only the page that
was opened by its URL is shown: one that it leads to is named, and decided anew. Whatever is not
plain reading passes only where a person has allowed it: to the host of the page, during that call.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from agent.errors import AddressRefused
from agent.security.web_addresses import WebPlace, spelled
from agent.text.printable import printable_line
from agent.tools.web import Web, is_elsewhere

# Of one call; a heavy page of a newspaper makes some hundreds
MAX_REQUESTS = 600
_MB = 1024 * 1024
MAX_RECEIVED_BYTES = 48 * _MB
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_MAX_NOTES = 8
_MAX_NOTE_CHARS = 160
# They never leave the browser
_WITHIN = ("data:", "blob:", "about:")
_WEB = ("http:", "https:")


class UrlRules(Struct, frozen=True):
    """Rules of the owner that compare URLs, as far as a page meets them.

    Args:
        follow: there is none: a page may lead on within its site.
        denies: returns true for a URL, in its one spelling, that nothing of a page may ask for.
    """

    follow: bool = True
    denies: Callable[[str], bool] = lambda _: False


NO_RULES = UrlRules()


class PageRequest(Struct, frozen=True):
    """A request of a page; `is_page` is true for one that would replace the page itself."""

    method: str
    url: str
    is_page: bool = False


class Tally(Struct):
    """Counts of one call, and what a person should know of it."""

    requests: int = 0
    received_bytes: int = 0
    sent: list[str] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    # Where the page wanted to go and may not by itself
    leads_to: str = ""
    refusal: str = ""


class Traffic:
    """Decides on each request of one browser."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._place: WebPlace | None = None
        self._is_open = False
        self._may_send = False
        self._only = ""
        self._rules = NO_RULES
        self._let_through: set[tuple[str, str, int]] = set()
        self.tally = Tally()

    @property
    def place(self) -> WebPlace | None:
        """Return the place of the page."""
        return self._place

    @contextmanager
    def opened(
        self, place: WebPlace, *, may_send: bool = False, only: str = "", rules: UrlRules = NO_RULES
    ) -> Iterator[Tally]:
        """Let requests out during one call.

        Args:
            may_send: a person has allowed that this page sends something to its own host.
            only: URL of the one page that may be shown where a rule compares URLs.
        """
        self.tally = Tally()
        self._rules = rules
        self._only = "" if rules.follow else spelled(only)
        self._place, self._is_open, self._may_send = place, True, may_send
        try:
            yield self.tally
        finally:
            self._is_open = self._may_send = False
            self._let_through.clear()

    def refusal(self, request: PageRequest) -> str:
        """Return the reason to refuse a request; "" if it was let through."""
        if request.url.startswith(_WITHIN):
            return ""
        try:
            place = self._web.place_of(request.url)
        except AddressRefused as err:
            reason = str(err)
        else:
            reason = self._refusal_of(request, place)
            if not reason:
                self._let_through.add((place.scheme, place.host, place.port))
                self._count(request.method, place)
                return ""
        self.note(f"refused: {reason}")
        if request.is_page:
            self.tally.refusal = reason
        return reason

    def refusal_of_shown(self, url: str) -> str:
        """Return the reason why a page that has come may not be shown; "" if it may.

        A page that was fetched ahead comes without a request.
        """
        if not url.startswith(_WEB):
            return ""
        try:
            return self._refusal_of_page("GET", self._web.place_of(url))
        except AddressRefused as err:
            return str(err)

    def refusal_of_connection(self, method: str, place: WebPlace) -> str:
        """Return the reason to refuse a connection that the proxy is asked for.

        It sees what no event tells: the browser's own requests, and sockets of pages.
        """
        if (place.scheme, place.host, place.port) not in self._let_through:
            return f"no request of a page was let through to {place.host}"
        return "" if method == "CONNECT" else self._refusal_to_send(method, place)

    def receive(self, count_bytes: int) -> bool:
        """Count what came for the page; return false if it is too much."""
        self.tally.received_bytes += count_bytes
        if self.tally.received_bytes <= MAX_RECEIVED_BYTES:
            return True
        self.note(f"cut off: the page loads more than {MAX_RECEIVED_BYTES // _MB} MB")
        return False

    def note(self, words: str) -> None:
        """Keep what a person should know."""
        words = printable_line(words, _MAX_NOTE_CHARS)
        if words in self.tally.notes or len(self.tally.notes) < _MAX_NOTES:
            self.tally.notes[words] += 1

    def _refusal_of(self, request: PageRequest, place: WebPlace) -> str:
        if not self._is_open or self._place is None:
            return "nothing is let out between calls"
        if self.tally.requests >= MAX_REQUESTS:
            return f"the page makes more than {MAX_REQUESTS} requests"
        if request.is_page and (reason := self._refusal_of_page(request.method, place)):
            return reason
        if not self._rules.follow and self._rules.denies(spelled(place.url)):
            return f"a part of the page from {place.host}: a rule of the owner denies its URL"
        return self._refusal_to_send(request.method, place)

    def _refusal_of_page(self, method: str, place: WebPlace) -> str:
        if self._place is None:
            return ""
        if self._place.scheme == "https" and place.scheme == "http":
            return f"{place.host} is plain http, and the page was not"
        if is_elsewhere(self._place, place):
            self.tally.leads_to = place.url
            return f"{place.host} is another site: open it by its URL"
        if not self._only or spelled(place.url) == self._only:
            return ""
        if method not in _READING:
            return f"{method} to another page of {place.host}: a rule of the owner compares URLs"
        self.tally.leads_to = place.url
        return f"another page of {place.host}, and a rule compares URLs: open it by its URL"

    def _refusal_to_send(self, method: str, place: WebPlace) -> str:
        if method in _READING:
            return ""
        if not self._may_send:
            return f"{method} to {place.host}: nobody has allowed to send"
        if self._place is None or is_elsewhere(self._place, place):
            return f"{method} to {place.host}: sending was allowed to the page's own site"
        if self._place.scheme == "https" and place.scheme == "http":
            return f"{method} to {place.host}: it is plain http, and the page was not"
        return ""

    def _count(self, method: str, place: WebPlace) -> None:
        self.tally.requests += 1
        if method not in _READING:
            self.tally.sent.append(f"{method} {place.origin}")
