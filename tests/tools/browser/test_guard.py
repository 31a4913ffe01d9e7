from typing import Any, cast

import pytest

from agent.net.http import HttpClient
from agent.security.web_addresses import WebRules
from agent.tools.browser.devtools import BrowserMessage, DevTools
from agent.tools.browser.guard import Guard
from agent.tools.browser.traffic import Traffic, UrlRules
from agent.tools.web import Web

SHOP = "https://shop.example.org/"


class ToldTools:
    """Keeps every order, and answers those that wait."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.told: list[tuple[str, dict[str, Any], str]] = []

    async def call(
        self, method: str, params: dict[str, Any] | None = None, session: str = ""
    ) -> dict[str, str]:
        self.told.append((method, params or {}, session))
        if method == "Target.createTarget":
            self.attach("page", "begun")
            self.attach("page", "ours")
            return {"targetId": "ours"}
        return {}

    def tell(self, method: str, params: dict[str, Any] | None = None, session: str = "") -> None:
        self.told.append((method, params or {}, session))

    def attach(self, kind: str, target: str) -> None:
        info = {"type": kind, "targetId": target}
        self.hear("Target.attachedToTarget", "", sessionId=f"to {target}", targetInfo=info)

    def close(self) -> None:
        self.told.append(("closed", {}, ""))

    def hear(self, method: str, session: str = "to ours", **params: object) -> None:
        self._guard.hear(BrowserMessage(method=method, session_id=session, params=params))

    def of(self, session: str) -> list[str]:
        return [method for method, _, told in self.told if told == session]

    @property
    def closed(self) -> list[str]:
        return [params["targetId"] for name, params, _ in self.told if "closeTarget" in name]


@pytest.fixture
def traffic() -> Traffic:
    return Traffic(Web(HttpClient(), WebRules()))


@pytest.fixture
async def tools(traffic: Traffic) -> ToldTools:
    guard = Guard(traffic)
    made = ToldTools(guard)
    guard.tools = cast("DevTools", made)
    await guard.begin()
    return made


async def test_the_page_runs_only_when_it_is_guarded(tools: ToldTools) -> None:
    orders = tools.of("to ours")
    assert orders.index("Fetch.enable") < orders.index("Runtime.runIfWaitingForDebugger")
    # The window with which a browser begins is no use
    assert tools.closed == ["begun"]


@pytest.mark.parametrize("kind", ["page", "worker", "service_worker", "shared_worker", "other"])
async def test_nothing_else_ever_runs(tools: ToldTools, kind: str) -> None:
    tools.attach(kind, "further")
    assert tools.of("to further") == []
    assert tools.closed == ["begun", "further"]


async def test_a_frame_of_another_site_is_guarded_as_well(tools: ToldTools) -> None:
    tools.attach("iframe", "frame")
    assert tools.of("to frame")[0] == "Fetch.enable"
    assert tools.of("to frame")[-1] == "Runtime.runIfWaitingForDebugger"


async def test_a_page_that_may_not_leave_stays_as_it_is(tools: ToldTools, traffic: Traffic) -> None:
    asked = {"method": "GET", "url": "https://other.example.org/"}
    paused = {"requestId": "1", "frameId": "ours", "resourceType": "Document", "request": asked}
    with traffic.opened(Web(HttpClient(), WebRules()).place_of(SHOP)):
        tools.hear("Fetch.requestPaused", **paused)
    assert tools.told[-1][1] == {"requestId": "1", "errorReason": "Aborted"}


@pytest.mark.parametrize(
    ("method", "answer"), [("GET", "Fetch.continueRequest"), ("POST", "Fetch.failRequest")]
)
async def test_each_request_is_decided(
    tools: ToldTools, traffic: Traffic, method: str, answer: str
) -> None:
    asked = {"requestId": "1", "frameId": "ours", "request": {"method": method, "url": SHOP}}
    with traffic.opened(Web(HttpClient(), WebRules()).place_of(SHOP)):
        tools.hear("Fetch.requestPaused", **asked)
    assert tools.told[-1][0] == answer


@pytest.mark.parametrize(("kind", "accepts"), [("confirm", False), ("beforeunload", True)])
async def test_a_dialog_gets_a_no_unless_the_page_is_to_be_left(
    tools: ToldTools, kind: str, *, accepts: bool
) -> None:
    tools.hear("Page.javascriptDialogOpening", type=kind)
    assert tools.told[-1][1] == {"accept": accepts}


async def test_a_page_that_crashed_is_not_waited_for(tools: ToldTools) -> None:
    tools.hear("Inspector.targetCrashed", "to a frame")
    assert tools.told[-1][0] != "closed"
    tools.hear("Inspector.targetCrashed")
    assert tools.told[-1][0] == "closed"


async def test_a_page_that_came_although_nobody_let_it_ends_the_browser(
    tools: ToldTools, traffic: Traffic
) -> None:
    with traffic.opened(
        Web(HttpClient(), WebRules()).place_of(SHOP), only=SHOP, rules=UrlRules(follow=False)
    ):
        tools.hear("Page.frameNavigated", frame={"id": "ours", "url": SHOP})
        tools.hear("Page.frameNavigated", frame={"id": "a part", "url": f"{SHOP}mint"})
        assert tools.told[-1][0] != "closed"
        tools.hear("Page.frameNavigated", frame={"id": "ours", "url": f"{SHOP}mint"})
    assert tools.told[-1][0] == "closed"


async def test_what_was_refused_is_told(tools: ToldTools, traffic: Traffic) -> None:
    tools.hear("Browser.downloadWillBegin", "", url="https://evil.example.com/a.bin")
    tools.hear("Page.fileChooserOpened")
    tools.hear("Of.another", x=1)
    assert list(traffic.tally.notes) == [
        "refused: a download from evil.example.com",
        "refused: the page asked for a file",
    ]
