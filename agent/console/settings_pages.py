"""Pages of the settings: a form for each section, its change as a diff, and its taking.

What was typed goes to the agent, which alone checks and writes; a secret is never sent back.
"""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from agent.console.agent_client import AgentClient
from agent.console.request import Visit

# The largest section has 46 keys, each with what it was and a tick for what goes
_MOST_FIELDS = 200
_MOST_CHARS = 120
# Names of inputs begin with it: typed, as it was in the file, to be taken away
_TYPED, _WAS, _DROPPED = "v.", "was.", "drop."

Show = Callable[..., Response]


class SettingsPages:
    """Handlers of the settings; `show` renders a page for a visitor."""

    def __init__(self, client: AgentClient, show: Show) -> None:
        self._client = client
        self._show = show

    async def look(self, visit: Visit) -> Response:
        query = visit.query()
        section = query.get("section", "")[:_MOST_CHARS]
        if name := query.get("name", "").strip()[:_MOST_CHARS]:
            # A table with a name of the owner's own
            section = f"{query.get('below', '')[:_MOST_CHARS]}.{name}"
        return await self._form(visit, section, is_taken=query.get("taken") == "yes")

    async def check(self, visit: Visit) -> Response:
        """Show what would change, or the form with what is wrong in it."""
        fields = await visit.form(visit.session, _MOST_FIELDS)
        section, typed = fields.get("section", "")[:_MOST_CHARS], _typed(fields)
        answer = await self._client.act(
            visit.session,
            "settings_check",
            {
                **{f"{_TYPED}{name}": value for name, value in typed.items()},
                "section": section,
                "seen": fields.get("seen", "")[:_MOST_CHARS],
                "dropped": ",".join(_after(_DROPPED, fields)),
                "is_removed": "yes" if "is_removed" in fields else "",
            },
        )
        if answer["verdict"] == "planned":
            return await self._plan(visit, section, answer, typed)
        return await self._form(visit, section, answer, typed)

    async def edit(self, visit: Visit) -> Response:
        """Go back to the form, with what was typed."""
        fields = await visit.form(visit.session, _MOST_FIELDS)
        section = fields.get("section", "")[:_MOST_CHARS]
        return await self._form(visit, section, None, _after(_TYPED, fields))

    async def take(self, visit: Visit) -> Response:
        """Have a change written that was shown."""
        fields = await visit.form(visit.session, _MOST_FIELDS)
        section, typed = fields.get("section", "")[:_MOST_CHARS], _after(_TYPED, fields)
        answer = await self._client.act(
            visit.session,
            "settings_take",
            {
                "change": fields.get("change", "")[:_MOST_CHARS],
                "confirmed": fields.get("confirmed", "")[:_MOST_CHARS],
            },
        )
        if answer["verdict"] == "taken":
            return RedirectResponse(f"/settings?section={quote(section)}&taken=yes", 303)
        if answer["verdict"] == "confirm":
            return await self._plan(visit, section, answer, typed)
        return await self._form(visit, section, answer, typed)

    async def _form(
        self,
        visit: Visit,
        section: str,
        answer: Mapping[str, Any] | None = None,
        typed: Mapping[str, str] | None = None,
        *,
        is_taken: bool = False,
    ) -> Response:
        home, told = await self._both(visit, section)
        problems: dict[str, list[str]] = {}
        for one in answer["problems"] if answer is not None else ():
            problems.setdefault(one["key"], []).append(one["text"])
        return self._show(
            visit,
            "settings",
            home,
            told=told,
            groups=_groups(told.get("sections", ())),
            verdict=answer["verdict"] if answer is not None else "",
            problems=problems,
            typed=typed or {},
            wanted=section,
            is_taken=is_taken,
        )

    async def _plan(
        self, visit: Visit, section: str, answer: Mapping[str, Any], typed: Mapping[str, str]
    ) -> Response:
        home, told = await self._both(visit, section)
        inputs = told.get("section", {}).get("fields", ())
        secret = {one["name"] for one in inputs if one["kind"].startswith("secret")}
        return self._show(
            visit,
            "settings_change",
            home,
            told=told,
            wanted=section,
            answer=answer,
            typed={name: value for name, value in typed.items() if name not in secret},
        )

    async def _both(self, visit: Visit, section: str) -> tuple[Any, Any]:
        home = await self._client.view(visit.session, "home")
        return home, await self._client.view(visit.session, "settings", section=section)


def _typed(fields: Mapping[str, str]) -> dict[str, str]:
    """Return what the visitor has changed: the rest stays as the file has it by then."""
    was = _after(_WAS, fields)
    return {
        name: value
        for name, value in _after(_TYPED, fields).items()
        if _plain(value) != _plain(was.get(name, ""))
    }


def _after(beginning: str, fields: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(beginning): value
        for name, value in fields.items()
        if name.startswith(beginning)
    }


def _plain(text: str) -> str:
    """Return the text with the line ends of the file; a browser has its own."""
    return text.replace("\r\n", "\n")


def _groups(sections: Any) -> list[tuple[str, list[Any]]]:
    """Return the sections by the first word of their names."""
    by_top = groupby(sections, key=lambda one: str(one["where"]).partition(".")[0])
    return [(top, list(members)) for top, members in by_top]
