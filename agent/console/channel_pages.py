"""Page of the channels: how each is, and the code that links an account of Signal."""

from collections.abc import Callable
from typing import Any

from starlette.responses import HTMLResponse, RedirectResponse, Response

from agent.console import pages
from agent.console.agent_client import AgentClient
from agent.console.pages import Visitor
from agent.console.qr_code import qr_code
from agent.console.request import Visit, form_token

Show = Callable[..., Response]


class ChannelPages:
    """Handlers of the page; `show` renders it for a visitor."""

    def __init__(self, client: AgentClient, show: Show) -> None:
        self._client = client
        self._show = show

    async def look(self, visit: Visit) -> Response:
        """Show the page, or its part that changes while an account is linked."""
        home = await self._client.view(visit.session, "home")
        link = await self._client.view(visit.session, "signal_link")
        if visit.is_part and visit.query().get("seen") == str(link["number"]):
            # Nothing is said twice, and the code is sent once
            return Response(status_code=204)
        told = await self._client.view(visit.session, "channels")
        code = qr_code(link["uri"], visit.wording("channels.link_code")) if link["uri"] else ""
        is_well = any(one["name"] == "signal" and one["is_well"] for one in told)
        values: dict[str, Any] = {"link": link, "code": code, "is_well": is_well}
        if visit.is_part:
            visitor = Visitor(home["person"], home["role"], form_token(visit.session))
            part = pages.rendered("_signal", visit.wording, visitor=visitor, **values)
            return HTMLResponse(part)
        return self._show(visit, "channels", home, told=told, **values)

    async def link(self, visit: Visit) -> Response:
        """Begin to link; whoever looks sees the code."""
        await visit.form(visit.session)
        await self._client.act(visit.session, "signal_link", {})
        return RedirectResponse("/channels#signal", 303)
