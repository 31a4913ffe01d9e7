"""Page of updates and backups: what is recorded, and the button for a backup now."""

from collections.abc import Callable

from starlette.responses import HTMLResponse, RedirectResponse, Response

from agent.console import pages
from agent.console.agent_client import AgentClient
from agent.console.pages import Visitor
from agent.console.request import Visit, form_token

Show = Callable[..., Response]


class UpkeepPages:
    """Handlers of the page; `show` renders it for a visitor."""

    def __init__(self, client: AgentClient, show: Show) -> None:
        self._client = client
        self._show = show

    async def look(self, visit: Visit) -> Response:
        """Show the page, or its part that changes while a backup is made."""
        home = await self._client.view(visit.session, "home")
        told = await self._client.view(visit.session, "upkeep")
        if visit.is_part:
            visitor = Visitor(home["person"], home["role"], form_token(visit.session))
            part = pages.rendered("_backup", visit.wording, told=told, visitor=visitor)
            return HTMLResponse(part)
        return self._show(visit, "upkeep", home, told=told)

    async def back_up(self, visit: Visit) -> Response:
        await visit.form(visit.session)
        await self._client.act(visit.session, "upkeep_backup", {})
        return RedirectResponse("/upkeep", 303)
