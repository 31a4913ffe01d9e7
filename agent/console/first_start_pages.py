"""Pages of the first start: one question at a time, then the first sentence."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import RedirectResponse, Response

from agent.console.agent_client import AgentClient
from agent.console.live import shape_of
from agent.console.request import Visit
from agent.console.wording import Wording, wording

# A key or a token of the longest kind
_MOST_CHARS = 4096
_QUESTIONS = "question."
_FIRST_OUTPUT = "led"

Show = Callable[..., Response]


class FirstStartPages:
    """Handlers of the first start; `show` renders a page for a visitor."""

    def __init__(self, client: AgentClient, show: Show) -> None:
        self._client = client
        self._show = show

    async def look(self, visit: Visit) -> Response:
        home = await self._client.view(visit.session, "home")
        told = await self._client.view(visit.session, "setup")
        if told["is_open"]:
            steps = [
                {**one, "text": in_language(one["text"], visit.wording)} for one in told["steps"]
            ]
            return self._show(visit, "setup", home, told={**told, "steps": steps})
        board = await self._client.view(visit.session, "board")
        talk = await self._client.view(visit.session, "talk")
        return self._show(
            visit,
            "first",
            home,
            board=board,
            talk=talk,
            found=_first_output(board),
            shape=shape_of(board),
            stream="board",
        )

    async def begin(self, visit: Visit) -> Response:
        await visit.form(visit.session)
        await self._client.act(visit.session, "setup_begin", {})
        return RedirectResponse("/setup", 303)

    async def answer(self, visit: Visit) -> Response:
        fields = await visit.form(visit.session)
        said = {name: fields.get(name, "")[:_MOST_CHARS] for name in ("number", "answer")}
        await self._client.act(visit.session, "setup_answer", said)
        return RedirectResponse("/setup#now", 303)


def in_language(text: str, to: Wording) -> str:
    """Return a sentence of the program in the visitor's language, as far as it is known there.

    What follows a known beginning is a name or a list, and stays.
    """
    known = {
        sentence: key
        for key, sentence in wording("en").texts.items()
        if key.startswith(_QUESTIONS) and text.startswith(sentence)
    }
    if not known:
        return text
    longest = max(known, key=len)
    return to(known[longest]) + text.removeprefix(longest)


def _first_output(board: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the output for the first sentence: the led, or one without danger."""
    found = [
        {"pin": pin, "number": number}
        for number, one in enumerate(board["boards"])
        for pin in one["pins"]
        if pin["is_switch"] and pin["safety"] != "hazard"
    ]
    named = [one for one in found if one["pin"]["name"] == _FIRST_OUTPUT]
    return next(iter([*named, *found]), None)
