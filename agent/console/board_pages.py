"""Pages of the boards: their pins, their reflexes with what one would have done, their readings."""

from collections.abc import Callable

from starlette.responses import HTMLResponse, RedirectResponse, Response

from agent.console import pages
from agent.console.agent_client import AgentClient
from agent.console.live import shape_of
from agent.console.pages import Visitor
from agent.console.request import Visit, form_token

Show = Callable[..., Response]

# A tick for each sensor, and the span
_MOST_TICKS = 256


class BoardPages:
    """Handlers of the boards; `show` renders a page for a visitor."""

    def __init__(self, client: AgentClient, show: Show) -> None:
        self._client = client
        self._show = show

    async def look(self, visit: Visit) -> Response:
        home = await self._client.view(visit.session, "home")
        board = await self._client.view(visit.session, "board")
        rules = await self._client.view(visit.session, "reflexes")
        return self._show(visit, "board", home, board=board, rules=rules, shape=shape_of(board))

    async def rules(self, visit: Visit) -> Response:
        """Show the rules alone, as they are after something was said about them."""
        if not visit.is_part:
            return RedirectResponse("/board", 303)
        home = await self._client.view(visit.session, "home")
        rules = await self._client.view(visit.session, "reflexes")
        visitor = Visitor(home["person"], home["role"], form_token(visit.session))
        part = pages.rendered("_reflexes", visit.wording, rules=rules, visitor=visitor)
        return HTMLResponse(part)

    async def rehearse(self, visit: Visit) -> Response:
        fields = await visit.form(visit.session)
        wanted = {name: fields.get(name, "")[:64] for name in ("board", "name")}
        told = await self._client.act(visit.session, "rehearse", wanted)
        home = await self._client.view(visit.session, "home")
        return self._show(visit, "rehearsal", home, told=told)

    async def readings(self, visit: Visit) -> Response:
        query = visit.query(_MOST_TICKS)
        names = ",".join(visit.query_list("name", _MOST_TICKS))
        home, span = await self._client.view(visit.session, "home"), query.get("span", "24h")
        told = await self._client.view(visit.session, "readings", names=names, span=span[:4])
        if not names and told["series"]:
            first = [one["name"] for one in told["series"] if not one["is_switch"]][:2]
            told = await self._client.view(
                visit.session, "readings", names=",".join(first), span="24h"
            )
        return self._show(visit, "readings", home, told=told, span=span)
