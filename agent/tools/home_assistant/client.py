"""Client of Home Assistant's REST interface: this one host, and nowhere else.

A look is tried twice. A call is sent once: whether it acted is not known where no answer comes, and
whoever asks again decides that anew.
"""

import asyncio
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from agent.config import Secret
from agent.errors import AddressRefused, HomeAssistantRefused, NetworkError, OutcomeUnknown
from agent.net.http import HttpClient, HttpRequest
from agent.security.web_addresses import WebRules
from agent.text.printable import printable_line
from agent.tools.web import Lookup, look_up

# A house of some hundred entities answers in milliseconds, a small machine within a second
LOOK_TIMEOUT_S = 10.0
# It waits for the device; radio is tried again for some seconds
CALL_TIMEOUT_S = 20.0
# Thousands of entities
MAX_BODY_BYTES = 8 * 1024 * 1024
_SHOWN_CHARS = 200
# Of every area its name and entities, a line each; nothing of anybody's words goes into it
_AREAS = (
    "{% for one in areas() %}{{ [area_name(one), area_entities(one)] | to_json }}\n{% endfor %}"
)
_OK = range(200, 300)
_MOVED = range(300, 400)
_SERVER_FAULT = 500
T = TypeVar("T")


class HomeState(msgspec.Struct, frozen=True):
    """State of an entity, as Home Assistant tells it."""

    entity_id: str
    state: str
    attributes: dict[str, Any] = {}
    last_changed: str = ""

    @property
    def name(self) -> str:
        """Return what people call it there, on one line."""
        told = self.attributes.get("friendly_name")
        return printable_line(told, 100) if isinstance(told, str) else ""


class _Answer(Struct, frozen=True):
    status: int
    body: bytes
    location: str = ""


class HomeAssistant:
    """Home Assistant at one address.

    Args:
        token: a long-lived access token.
    """

    def __init__(
        self, base_url: str, token: Secret, http: HttpClient, lookup: Lookup = look_up
    ) -> None:
        self._base = base_url.rstrip("/")
        parts = urlsplit(self._base)
        self.host = parts.netloc
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        self._rules = WebRules((parts.hostname or "",), (f"{host}:{port}",))
        self._token = token
        self._http = http
        self._lookup = lookup

    async def check(self) -> None:
        """Return if it is there and takes the token.

        Raises:
            HomeAssistantRefused: it does not.
            NetworkError: it is not there.
        """
        await self._look("/api/")

    async def states(self) -> list[HomeState]:
        """Return the states of all entities. Raises as `check` does."""
        return _decoded(await self._look("/api/states"), list[HomeState])

    async def state(self, entity: str) -> HomeState:
        """Return the state of an entity. Raises as `check` does."""
        return _decoded(await self._look(f"/api/states/{entity}"), HomeState)

    async def areas(self) -> dict[str, str]:
        """Return the areas by entities; only an administrator's token is told them.

        Raises as `check` does.
        """
        asked = msgspec.json.encode({"template": _AREAS})
        lines = (await self._look("/api/template", "POST", asked)).splitlines()
        found = [_decoded(line, tuple[str, list[str]]) for line in lines if line.strip()]
        return {entity: printable_line(area, 60) for area, known in found for entity in known}

    async def call(self, domain: str, service: str, data: dict[str, object]) -> int:
        """Call a service, once; return how many states it has changed by then.

        Raises:
            HomeAssistantRefused: it was not done.
            OutcomeUnknown: it was sent, and nobody can tell.
        """
        path = f"/api/services/{domain}/{service}"
        request = await self._request("POST", path, msgspec.json.encode(data))
        try:
            answer = await self._ask(request, CALL_TIMEOUT_S)
        except NetworkError as err:
            raise OutcomeUnknown(f"the call was sent, and no answer came: {err}") from err
        if answer.status >= _SERVER_FAULT:
            raise OutcomeUnknown(
                f"{self.host} answered {answer.status} to the call: it may have acted or not"
            )
        self._refuse(answer)
        try:
            return len(_decoded(answer.body, list[HomeState]))
        except HomeAssistantRefused as err:
            raise OutcomeUnknown(f"the call was taken, but {err}") from err

    async def _look(self, path: str, method: str = "GET", content: bytes = b"") -> bytes:
        request = await self._request(method, path, content)
        try:
            answer = await self._ask(request, LOOK_TIMEOUT_S)
        except NetworkError:
            # A connection that was kept open may have been closed meanwhile
            answer = await self._ask(request, LOOK_TIMEOUT_S)
        self._refuse(answer)
        return answer.body

    async def _request(self, method: str, path: str, content: bytes) -> HttpRequest:
        url = f"{self._base}{path}"
        try:
            place = self._rules.place_of(url)
            found = [place.host] if place.is_address else await self._lookup(place.host, place.port)
            address = self._rules.checked(place, found)
        except AddressRefused as err:
            raise HomeAssistantRefused(f"home_assistant.base_url: {err}") from err
        headers = {"authorization": f"Bearer {self._token.reveal()}"}
        headers |= {"content-type": "application/json"} if content else {}
        return HttpRequest(method, url, headers, content, str(address))

    async def _ask(self, request: HttpRequest, within_s: float) -> _Answer:
        try:
            async with (
                asyncio.timeout(within_s),
                self._http.exchange(request, within_s) as answer,
            ):
                body = bytearray()
                while piece := await answer.read():
                    body += piece
                    if len(body) > MAX_BODY_BYTES:
                        raise NetworkError(f"{self.host} answers more than {MAX_BODY_BYTES} bytes")
                return _Answer(answer.status, bytes(body), answer.header("location"))
        except TimeoutError as err:
            raise NetworkError(f"{self.host} did not answer within {within_s:g} s") from err

    def _refuse(self, answer: _Answer) -> None:
        if answer.status in _OK:
            return
        raise HomeAssistantRefused(self._complaint(answer), status=answer.status)

    def _complaint(self, answer: _Answer) -> str:
        match answer.status:
            case 401 | 403:
                return (
                    f"{self.host} does not take the token ({answer.status}): make a long-lived "
                    "access token in Home Assistant and put it into home_assistant.token_file"
                )
            case 404:
                return f"{self.host} knows no such entity or path (404)"
            case 400:
                told = printable_line(answer.body.decode(errors="replace"), _SHOWN_CHARS)
                return f"{self.host} refused the call as wrong (400): {told}"
            case status if status in _MOVED:
                where = printable_line(answer.location, _SHOWN_CHARS)
                return f"{self.host} redirects to {where}: put that into home_assistant.base_url"
            case status:
                return f"{self.host} answered {status}: does Home Assistant run there?"


def _decoded(raw: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        told = printable_line(str(err), _SHOWN_CHARS)
        raise HomeAssistantRefused(f"the answer is not Home Assistant's: {told}") from err
