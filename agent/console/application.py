"""The console as an application: the guards, the door, the pages and what is done on them.

Everything that a visitor does is words of theirs to the agent; nothing here decides about hardware.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from agent.channels.console import frames
from agent.console import pages
from agent.console.agent_client import AgentClient, NoAccess, NotForVisitor
from agent.console.board_pages import BoardPages
from agent.console.channel_pages import ChannelPages
from agent.console.chat_files import MAX_FILES, ChatFiles
from agent.console.conversation import Conversations
from agent.console.device import DeviceNames
from agent.console.first_start_pages import FirstStartPages
from agent.console.guards import DOOR_COOKIE, FILE_PATH, SESSION_COOKIE, Pace, RequestHead, fault_of
from agent.console.live import PageStream, shape_of_talk
from agent.console.open_pages import MOST, OpenPages
from agent.console.pages import Visitor
from agent.console.request import (
    DOOR_AGE_S,
    HEADERS,
    SESSION_AGE_S,
    BadForm,
    Visit,
    form_token,
    give,
    take_back,
)
from agent.console.settings_pages import SettingsPages
from agent.console.static_files import static_response
from agent.console.upkeep_pages import UpkeepPages
from agent.errors import ChannelError, MessageRefused

# Codes that one address may try at once, and in a minute; the agent counts them too
_CODES_BURST, _CODES_PER_S = 6.0, 0.1
# Pages that only show: their view, and how they are called in the wording
_SHOWN = ("jobs", "memory", "audit", "people", "models")
# Pages that a HEAD may ask for: what they would say, without saying it
_BRIEF = frozenset({b"/", b"/chat", b"/board", b"/readings"})

Handler = Callable[[Visit], Awaitable[Response]]


class ConsoleApplication:
    """Answers requests; knows the device by `names` and asks the agent by `client`."""

    def __init__(self, client: AgentClient, names: DeviceNames) -> None:
        self._client = client
        self.names = names
        self._conversations = Conversations(client)
        self._pace = Pace()
        self._codes = Pace(_CODES_BURST, _CODES_PER_S)
        self._open = OpenPages()
        settings, upkeep = SettingsPages(client, self._shown), UpkeepPages(client, self._shown)
        first, board = FirstStartPages(client, self._shown), BoardPages(client, self._shown)
        channels, self._files = ChannelPages(client, self._shown), ChatFiles(client)
        self._routes: dict[bytes, tuple[str, Handler]] = {
            b"/": ("GET", self._home),
            b"/chat": ("GET", self._chat),
            b"/board": ("GET", board.look),
            b"/reflexes": ("GET", board.rules),
            b"/reflexes/rehearse": ("POST", board.rehearse),
            b"/readings": ("GET", board.readings),
            b"/channels": ("GET", channels.look),
            b"/channels/signal": ("POST", channels.link),
            b"/log": ("GET", self._log),
            b"/more": ("GET", self._more),
            b"/live": ("GET", self._live),
            FILE_PATH: ("GET", self._files.give),
            b"/door": ("GET", self._door_look),
            b"/door/enter": ("POST", self._enter),
            b"/door/press": ("POST", self._press),
            b"/leave": ("POST", self._leave),
            b"/say": ("POST", self._say),
            b"/break": ("POST", self._break),
            b"/answer": ("POST", self._answer),
            b"/stop": ("POST", self._saying("/estop")),
            b"/release": ("POST", self._saying("/estop clear")),
            b"/revoke": ("POST", self._revoke),
            b"/upkeep": ("GET", upkeep.look),
            b"/upkeep/backup": ("POST", upkeep.back_up),
            b"/setup": ("GET", first.look),
            b"/setup/begin": ("POST", first.begin),
            b"/setup/answer": ("POST", first.answer),
            b"/settings": ("GET", settings.look),
            b"/settings/check": ("POST", settings.check),
            b"/settings/edit": ("POST", settings.edit),
            b"/settings/take": ("POST", settings.take),
            **{f"/{name}".encode(): ("GET", self._table(name)) for name in _SHOWN},
        }

    @property
    def streams(self) -> int:
        """Return the number of open pages."""
        return self._open.count

    async def aclose(self) -> None:
        await self._conversations.aclose()
        self._client.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        response = await self._answered(Request(scope, receive), scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await response(scope, receive, send_guarded)

    async def _answered(self, request: Request, scope: Scope) -> Response:
        client, raw_path = scope.get("client"), scope.get("raw_path") or b""
        head = RequestHead(scope["method"], raw_path, scope["query_string"], scope["headers"])
        visit = Visit(request, head, client[0] if client else "")
        if fault := fault_of(head, await self.names.hosts()):
            return _refused(visit, fault.status)
        if raw_path.startswith(b"/static/"):
            return static_response(head, raw_path.decode("latin-1").removeprefix("/static/"))
        if not self._pace.take(visit.who, asyncio.get_running_loop().time()):
            return _refused(visit, 429)
        method, handler = self._routes.get(raw_path, ("", None))
        if handler is None:
            return await self._lost(visit)
        if raw_path == FILE_PATH and head.method == "POST":
            handler, method = self._files.take, "POST"
        if head.method != method and not (head.method == "HEAD" and raw_path in _BRIEF):
            text = "state.nothing_here"
            return _page(visit, "note", 405, text=text, device=self.names.name)
        return await self._handled(visit, handler)

    async def _handled(self, visit: Visit, handler: Handler) -> Response:
        try:
            return await handler(visit)
        except NoAccess:
            # Nothing is held for a cookie that is nobody's
            await self._conversations.end(visit.session)
            return await self._door_or_away(visit)
        except NotForVisitor:
            return _page(visit, "note", 403, text="state.not_for_you", device=self.names.name)
        except BadForm as err:
            return _refused(visit, err.status)
        except MessageRefused as err:
            return _page(visit, "note", 409, text="", why=str(err), device=self.names.name)
        except ChannelError:
            return _page(visit, "gone", 503, device=self.names.name)

    # The door

    async def _door_or_away(self, visit: Visit) -> Response:
        try:
            return await self._door(visit)
        except ChannelError:
            return _page(visit, "gone", 503, device=self.names.name)

    async def _door(
        self, visit: Visit, fault: str = "", wait_s: float = 0.0, *, is_pressing: bool = False
    ) -> Response:
        """Show no more than the device's name, and the ways in."""
        if visit.is_part or visit.head.raw_path == b"/live":
            return _refused(visit, 401)
        door = visit.door or secrets.token_urlsafe(32)
        ask = frames.PressFrame if is_pressing else frames.KnockFrame
        told = await self._client.ask(ask(door, visit.who))
        knocked = told if isinstance(told, frames.KnockedFrame) else frames.KnockedFrame("")
        is_asked = visit.head.raw_path == b"/" or fault or is_pressing
        status = 401 if is_asked else 404
        response = _page(
            visit,
            "door",
            status,
            device=self.names.name,
            knocked=knocked,
            token=form_token(door),
            fault=fault,
            wait_s=round(wait_s),
        )
        give(response, DOOR_COOKIE, door, DOOR_AGE_S, is_secure=_is_secure(visit))
        return response

    async def _door_look(self, visit: Visit) -> Response:
        """Look whether the owner has let the browser in meanwhile."""
        if await self._client.knows(visit.session):
            # Who follows a link of another site comes without the cookie, and asks here with it
            return _onwards(visit)
        told = await self._client.ask(frames.ClaimFrame(visit.door)) if visit.door else None
        if isinstance(told, frames.LetInFrame) and told.session:
            return _let_in(visit, told.session)
        if visit.is_part:
            return Response(status_code=204)
        return RedirectResponse("/", 303)

    async def _enter(self, visit: Visit) -> Response:
        fields = await visit.form(visit.door)
        if not self._codes.take(visit.who, asyncio.get_running_loop().time()):
            return _refused(visit, 429)
        code = fields.get("code", "").strip().removeprefix("/pair").strip()[:40]
        told = await self._client.ask(frames.EnterFrame(code, visit.who))
        if isinstance(told, frames.LetInFrame) and told.session:
            return _let_in(visit, told.session)
        wait_s = told.wait_s if isinstance(told, frames.LetInFrame) else 0.0
        return await self._door(visit, "door.wait" if wait_s else "door.wrong", wait_s)

    async def _press(self, visit: Visit) -> Response:
        await visit.form(visit.door)
        if not self._codes.take(visit.who, asyncio.get_running_loop().time()):
            return _refused(visit, 429)
        return await self._door(visit, is_pressing=True)

    async def _leave(self, visit: Visit) -> Response:
        await visit.form(visit.session)
        await self._client.ask(frames.EndFrame(visit.session))
        await self._conversations.end(visit.session)
        response = RedirectResponse("/", 303)
        for is_secure in (False, True):
            take_back(response, SESSION_COOKIE, is_secure=is_secure)
        # Pictures of the chat may be in the browser's cache
        response.headers["clear-site-data"] = '"cache"'
        return response

    # Pages

    async def _home(self, visit: Visit) -> Response:
        home = await self._client.view(visit.session, "home", curves="yes")
        return self._shown(visit, "home", home, troubles=pages.troubles(home))

    async def _chat(self, visit: Visit) -> Response:
        home, talk = await self._both(visit, "talk")
        conversation = self._conversations.find(visit.session)
        asked = sorted(conversation.questions.items()) if conversation is not None else []
        told = {"talk": talk, "questions": asked, "shape": shape_of_talk(talk)}
        told["form"] = secrets.token_urlsafe(12)
        return self._shown(visit, "chat", home, **told)

    async def _log(self, visit: Visit) -> Response:
        level = visit.query().get("level", "all")[:8]
        home, told = await self._both(visit, "log", level=level)
        return self._shown(visit, "log", home, told=told, level=level)

    async def _more(self, visit: Visit) -> Response:
        return self._shown(visit, "more", await self._client.view(visit.session, "home"))

    def _table(self, name: str) -> Handler:
        async def handle(visit: Visit) -> Response:
            home, told = await self._both(visit, name)
            return self._shown(visit, name, home, told=told)

        return handle

    async def _both(self, visit: Visit, name: str, **arguments: str) -> tuple[Any, Any]:
        home = await self._client.view(visit.session, "home")
        return home, await self._client.view(visit.session, name, **arguments)

    async def _live(self, visit: Visit) -> Response:
        session = visit.session
        home = await self._client.view(session, "home")
        if self.streams >= MOST:
            return _refused(visit, 429)
        if visit.is_part:
            # A page that lost its stream asks whether it may have another
            return Response(status_code=204)
        stream = PageStream(
            self._client,
            self._conversations.of(session),
            session,
            _visitor(home, session),
            visit.wording,
        )
        query = visit.query()

        async def events() -> Any:
            with self._open.holding(session, stream):
                async for event in stream.events(
                    query.get("page", ""), query.get("shape", "")[:16], is_again="again" in query
                ):
                    yield event

        return StreamingResponse(events(), media_type="text/event-stream")

    # What a visitor does

    async def _say(self, visit: Visit) -> Response:
        fields = await visit.form(visit.session)
        text, files = fields.get("text", "").strip(), fields.get("files", "").split()
        if text or files:
            names = tuple(one[:64] for one in files[:MAX_FILES])
            form = fields.get("form", "")[:64]
            await self._conversations.of(visit.session).say(text, names, form)
        return _done(visit, fields)

    async def _break(self, visit: Visit) -> Response:
        fields = await visit.form(visit.session)
        if (conversation := self._conversations.find(visit.session)) is not None:
            await conversation.stop()
        return _done(visit, fields)

    async def _answer(self, visit: Visit) -> Response:
        fields = await visit.form(visit.session)
        number = fields.get("question", "")
        conversation = self._conversations.find(visit.session)
        is_number = number.isdecimal() and len(number) < 10  # noqa: PLR2004 - a counter of the agent
        if conversation is None or not is_number:
            is_taken = False
        else:
            is_taken = await conversation.answer(int(number), fields.get("answer", ""))
        if is_taken:
            return _done(visit, fields)
        return _page(visit, "note", 409, text="ask.closed", device=self.names.name)

    def _saying(self, command: str) -> Handler:
        async def handle(visit: Visit) -> Response:
            fields = await visit.form(visit.session)
            await self._conversations.of(visit.session).say(command)
            return _done(visit, fields)

        return handle

    async def _revoke(self, visit: Visit) -> Response:
        fields = await visit.form(visit.session)
        await self._client.view(visit.session, "revoke", id=fields.get("id", "")[:64])
        return RedirectResponse("/people", 303)

    async def _lost(self, visit: Visit) -> Response:
        """Show a visitor that nothing is there, and a stranger the door."""

        async def handle(visit: Visit) -> Response:
            await self._client.view(visit.session, "home")
            text = "state.nothing_here"
            return _page(visit, "note", 404, text=text, device=self.names.name)

        return await self._handled(visit, handle)

    def _shown(self, visit: Visit, name: str, home: Mapping[str, Any], **values: Any) -> Response:
        visitor = _visitor(home, visit.session)
        values |= {"page": name, "device": home["name"], "home": home, "visitor": visitor}
        return _page(visit, name, 200, **values)


def _visitor(home: Mapping[str, Any], session: str) -> Visitor:
    return Visitor(home["person"], home["role"], form_token(session))


def _page(visit: Visit, template: str, status: int, **values: Any) -> Response:
    if visit.is_part:
        told = values.get("why") or visit.wording(values.get("text") or "state.gone")
        return Response(told, status, media_type="text/plain")
    values["is_form"] = visit.head.method == "POST"
    return HTMLResponse(pages.rendered(template, visit.wording, **values), status)


def _refused(visit: Visit, status: int) -> Response:
    text = visit.wording("state.too_fast") if status == 429 else f"{status}"  # noqa: PLR2004 - Too Many Requests
    return Response(text, status, media_type="text/plain; charset=utf-8")


def _done(visit: Visit, fields: Mapping[str, str]) -> Response:
    """Answer a form: a script has changed the page, a browser without one goes back to it."""
    if visit.is_part:
        return Response(status_code=204)
    page = fields.get("page", "")
    return RedirectResponse(f"/{page}" if page in {"board", "chat"} else "/", 303)


def _onwards(visit: Visit) -> Response:
    if visit.is_part:
        return Response(status_code=204, headers={"hx-redirect": "/"})
    return RedirectResponse("/", 303)


def _let_in(visit: Visit, session: str) -> Response:
    response = _onwards(visit)
    is_secure = _is_secure(visit)
    give(response, SESSION_COOKIE, session, SESSION_AGE_S, is_secure=is_secure)
    # An older one that came the other way would go before it
    take_back(response, SESSION_COOKIE, is_secure=not is_secure)
    for is_secure in (False, True):
        take_back(response, DOOR_COOKIE, is_secure=is_secure)
    return response


def _is_secure(visit: Visit) -> bool:
    """Return true if the browser came by TLS, to us or, as a form's origin says, to a proxy."""
    if visit.request.url.scheme == "https":
        return True
    return (visit.head.one(b"origin") or "").startswith("https://")
