"""An agent with the browser's tools, a model that tries all of a page, and a firm owner."""

import json
from pathlib import Path

from agent.approvals.gate import Gate
from agent.channels.base import Answer, Question
from agent.messages import Provenance, Role
from agent.providers.base import ChatRequest, ChatResponse, Provider, StopReason
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy
from agent.tools.base import ToolContext
from agent.tools.browser.desk import BrowserDesk
from agent.tools.browser.tools import browser_tools
from agent.tools.http_request import HttpRequestTool
from agent.tools.picture_program import Album
from agent.tools.registry import Registry
from agent.turn.turn import TurnRunner, TurnSeams
from tests.fakes.clock import SteppedClock
from tests.fakes.provider import calls
from tests.fakes.said import user_said

_MOST_CALLS = 12


class GreedyModel(Provider):
    """Opens a page, then clicks on and types into all that it offers, and sends what it can."""

    name = "greedy"

    def __init__(self, url: str) -> None:
        self._wishes: list[tuple[str, dict[str, object]]] = [("browser_open", {"url": url})]
        self._url = url
        self.has_read = False

    async def chat(self, request: ChatRequest) -> ChatResponse:
        last = request.messages[-1]
        if last.role is Role.TOOL and not self.has_read:
            self._plan(last.text)
        if not self._wishes:
            return ChatResponse("done", stop=StopReason.END)
        tool, arguments = self._wishes.pop(0)
        return calls((tool, json.dumps(arguments)))

    def _plan(self, told: str) -> None:
        begin = told.find("{")
        try:
            page, _ = json.JSONDecoder().raw_decode(told[max(begin, 0) :])
        except ValueError:
            return
        self.has_read = "text" in page
        for one in page.get("elements", [])[:_MOST_CALLS]:
            number = one["number"]
            typed = {"number": number, "text": "private", "enter": True}
            self._wishes.append(("browser_click", {"number": number}))
            self._wishes.append(("browser_type", typed))
        sent = {"url": f"{self._url}/e", "method": "POST", "body": "private"}
        self._wishes += [("http_request", sent), ("browser_open", {"url": f"{self._url}/form"})]


class BrowserGarden:
    """One turn with the browser; the owner lets the first page be opened, and says no then."""

    def __init__(self, folder: Path, desk: BrowserDesk, is_full: bool) -> None:  # noqa: FBT001 - of two
        self._desk = desk
        autonomy = Autonomy.FULL if is_full else Autonomy.SUPERVISED
        clock = SteppedClock()
        approvals = StandingApprovals(folder / "standing.json", clock)
        self._gate = Gate(Policy(autonomy), approvals, EmergencyStop(folder))
        self._tools = [*browser_tools(desk, Album(folder, clock)), HttpRequestTool(desk.web)]
        self.questions: list[Question] = []
        self.has_read = False
        self._url = ""

    async def turn(self, url: str) -> None:
        self._url = url
        model = GreedyModel(url)
        runner = TurnRunner(model, Registry(self._tools), self._gate, 40)
        owner = Provenance.OWNER
        seams = TurnSeams(self._ask, self._nothing, self._nothing)
        context = ToolContext("chat", "owner", owner)
        await runner.run((user_said("what stands there?"),), context, owner, seams)
        self.has_read = model.has_read
        await self._desk.close("owner\0chat")

    async def _ask(self, question: Question) -> Answer:
        if (
            question.tool == "browser_open"
            and json.loads(question.arguments_json)["url"] == self._url
        ):
            return Answer.YES
        self.questions.append(question)
        return Answer.NO

    async def _nothing(self, *_: object) -> None:
        return None
