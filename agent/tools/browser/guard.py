"""Guard of a browser: every request is looked at, and nothing but the one page is kept.

A page that comes although nobody let it ends the browser. New windows are closed, workers never
start, dialogs are answered with no, downloads and file choosers are refused. Pages have no sockets,
whose words no event would tell.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from agent.security.web_addresses import MAX_URL_CHARS
from agent.text.printable import printable_line
from agent.tools.browser.devtools import BrowserMessage, DevTools
from agent.tools.browser.traffic import PageRequest, Traffic

_Taker = Callable[[dict[str, Any], str], None]
_EVERYTHING = ({"urlPattern": "*", "requestStage": "Request"},)
# Before any script of any frame. Workers are kept from running below; without the names pages do
# without them, too
_WITHOUT = """
for (const name of ['WebSocket', 'WebSocketStream', 'WebTransport', 'RTCPeerConnection',
  'webkitRTCPeerConnection', 'Worker', 'SharedWorker', 'Notification', 'PaymentRequest'])
  delete globalThis[name];
delete Navigator.prototype.serviceWorker;
"""
_PAUSED = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
_OURS, _FRAME = "page", "iframe"
# Leaving is our own wish; whatever else a page asks gets a no
_LEAVING = "beforeunload"


class Guard:
    """Takes the events of one browser; `tools` is set before the first of them."""

    tools: DevTools

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self.page = ""
        self.session = ""
        self._waiting: dict[str, str] = {}
        self.is_loading = False
        # Requests that are under way, and how many there ever were
        self.begun = 0
        # Why nothing more is to be had of this browser
        self.end_reason = ""
        self._takers: dict[str, _Taker] = {
            "Target.attachedToTarget": self._attached,
            "Fetch.requestPaused": self._paused,
            "Page.javascriptDialogOpening": self._dialog,
            "Page.fileChooserOpened": self._chooser,
            "Page.frameNavigated": self._navigated,
            "Page.frameStartedLoading": self._loading,
            "Page.frameStoppedLoading": self._loaded,
            "Browser.downloadWillBegin": self._download,
            "Inspector.targetCrashed": self._crashed,
        }

    async def begin(self) -> None:
        """Open the one page.

        Raises:
            BrowserFailed: the browser does not.
        """
        await self.tools.call("Target.setAutoAttach", _PAUSED)
        await self.tools.call(
            "Browser.setDownloadBehavior", {"behavior": "deny", "eventsEnabled": True}
        )
        made = await self.tools.call("Target.createTarget", {"url": "about:blank"})
        self.page = str(made.get("targetId", ""))
        # What is attached was told before this answer; it waits until it is guarded
        self.session = self._waiting.pop(self.page, "")
        self._watch(self.session)
        for target in self._waiting:
            self.tools.tell("Target.closeTarget", {"targetId": target})
        await self.tools.call("Page.enable", session=self.session)

    def hear(self, message: BrowserMessage) -> None:
        """Act on an event."""
        if (take := self._takers.get(message.method)) is not None:
            take(message.params, message.session_id)

    def _attached(self, params: dict[str, Any], _session: str) -> None:
        info, session = params.get("targetInfo", {}), str(params.get("sessionId", ""))
        kind, target = info.get("type"), str(info.get("targetId", ""))
        if kind == _FRAME:
            self._watch(session)
        elif kind == _OURS and not self.session:
            # Ours, or a window with which the browser itself begins
            self._waiting[target] = session
        else:
            if kind == _OURS:
                self._traffic.note("closed: a window that the page opened")
            # It stays paused until it is gone
            self.tools.tell("Target.closeTarget", {"targetId": target})

    def _watch(self, session: str) -> None:
        self.tools.tell("Fetch.enable", {"patterns": _EVERYTHING}, session)
        self.tools.tell("Page.enable", session=session)
        self.tools.tell("Inspector.enable", session=session)
        self.tools.tell("Page.addScriptToEvaluateOnNewDocument", {"source": _WITHOUT}, session)
        self.tools.tell("Target.setAutoAttach", _PAUSED, session)
        self.tools.tell("Page.setInterceptFileChooserDialog", {"enabled": True}, session)
        self.tools.tell("Runtime.runIfWaitingForDebugger", session=session)

    def _paused(self, params: dict[str, Any], session: str) -> None:
        paused = str(params.get("requestId", ""))
        asked = params.get("request", {})
        is_page = (
            params.get("resourceType") == "Document"
            and session == self.session
            and params.get("frameId") == self.page
        )
        request = PageRequest(str(asked.get("method", "")), str(asked.get("url", "")), is_page)
        self.begun += 1
        if self._traffic.refusal(request):
            # A page that goes nowhere stays as it is; of a part of it an error is all right
            reason = "Aborted" if is_page else "BlockedByClient"
            failed = {"requestId": paused, "errorReason": reason}
            self.tools.tell("Fetch.failRequest", failed, session)
        else:
            self.tools.tell("Fetch.continueRequest", {"requestId": paused}, session)

    def _dialog(self, params: dict[str, Any], session: str) -> None:
        is_leaving = params.get("type") == _LEAVING
        if not is_leaving:
            self._traffic.note("answered with no: a dialog of the page")
        self.tools.tell("Page.handleJavaScriptDialog", {"accept": is_leaving}, session)

    def _download(self, params: dict[str, Any], _session: str) -> None:
        host = urlsplit(str(params.get("url", ""))).hostname or "the page"
        self._traffic.note(f"refused: a download from {host}")

    def _chooser(self, _params: dict[str, Any], _session: str) -> None:
        self._traffic.note("refused: the page asked for a file")

    def _loading(self, params: dict[str, Any], _session: str) -> None:
        self.is_loading = self.is_loading or params.get("frameId") == self.page

    def _loaded(self, params: dict[str, Any], _session: str) -> None:
        self.is_loading = self.is_loading and params.get("frameId") != self.page

    def _navigated(self, params: dict[str, Any], session: str) -> None:
        """Look at the page that has come: one that was fetched ahead made no request for it."""
        frame = params.get("frame", {})
        if session != self.session or frame.get("id") != self.page:
            return
        url = str(frame.get("url", ""))
        if reason := self._traffic.refusal_of_shown(url):
            self._end(f"the page led to {printable_line(url, MAX_URL_CHARS)}: {reason}")

    def _crashed(self, _params: dict[str, Any], session: str) -> None:
        if session == self.session:
            self._end("the page crashed, perhaps for want of memory")

    def _end(self, reason: str) -> None:
        self.end_reason = reason
        # Whoever waits for the page need not wait any more
        self.tools.close()
