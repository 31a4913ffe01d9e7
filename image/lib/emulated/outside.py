"""Services for the guest: a model and messengers on loopback, and Anna, who writes to it."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Self
from urllib.parse import urlsplit

from image.lib.emulated.faults import GuestFailed
from tests.fakes import signal_events, telegram_server
from tests.fakes.llm_server import Call, Json, Reply, streamed, whole
from tests.fakes.llm_thread import LlmThread
from tests.fakes.obedient_model import obey
from tests.fakes.serving_thread import ServingThread
from tests.fakes.signal_daemon import SignalDaemon
from tests.fakes.signal_thread import SignalThread
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_world import ANNA

# An answer takes the emulated agent some seconds, and minutes after a start
ANSWER_S = 240.0
_LOOK_S = 0.1
# As long as the real service waits at most, within what the agent asks for
_POLL_S = 20.0
_USE = re.compile(r"use (\w+) (\{.*\})", re.DOTALL)
_ECHO = re.compile(r"say (.+)", re.DOTALL)


class Outside:
    """Runs until the block ends; the guest may come and go."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._model = stack.enter_context(LlmThread(respond))
            self._telegram = stack.enter_context(ServingThread(telegram_server.running()))
            self.server.longest_poll_s = _POLL_S
            self._signal = stack.enter_context(SignalThread(SignalDaemon()))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def server(self) -> TelegramServer:
        return self._telegram.served

    @property
    def ports(self) -> dict[str, int]:
        urls = {"model": self._model.server.base_url, "telegram": self.server.base_url}
        urls["signal"] = self._signal.daemon.url
        return {name: urlsplit(url).port or 0 for name, url in urls.items()}

    @property
    def asked(self) -> int:
        """Return the number of requests to the model."""
        return len(self._model.server.requests)

    def shown(self) -> list[str]:
        """Return the agent's messages as Anna sees them now."""
        return self.server.world.shown(ANNA)

    def write(self, text: str) -> int:
        """Anna writes; the number of the update that the agent has to confirm."""
        self._in_loop(self.server.world.write(text))
        return self.server.world.next_update - 1

    def press(self, label: str) -> None:
        """Anna presses a button of the last question."""
        asked = next(m for m in reversed(self.server.world.sent) if "reply_markup" in m)
        self._in_loop(self.server.world.press(asked, label))

    def was_confirmed(self, update: int) -> bool:
        """Return true if the agent has confirmed the message, so that it never comes again."""
        return self.server.confirmed > update

    def wait_for(self, wanted: str, since: int = 0, most_s: float = ANSWER_S) -> str:
        """The agent's message with these words, after the first `since` ones."""
        return self.until(
            lambda: next((one for one in self.shown()[since:] if wanted in one), ""),
            lambda: f"{wanted!r} was not said; it said {self.shown()[since:]}",
            most_s,
        )

    def ask(self, text: str, wanted: str, most_s: float = ANSWER_S) -> float:
        """Anna writes and is answered; how long that took."""
        since, begun_s = len(self.shown()), time.monotonic()
        self.write(text)
        self.wait_for(wanted, since, most_s)
        return time.monotonic() - begun_s

    def ask_over_signal(self, text: str, wanted: str, most_s: float = ANSWER_S) -> float:
        """Anna writes over Signal and is answered there; how long that took."""
        daemon, begun_s = self._signal.daemon, time.monotonic()
        since = len(daemon.shown(signal_events.ANNA))
        # Its own time tells a message from one that has been seen
        arrival = signal_events.message(text, timestamp=time.time_ns() // 10**6)
        self._signal.call(lambda: daemon.tell(arrival))

        def told() -> list[str]:
            return [one.text for one in daemon.shown(signal_events.ANNA)[since:]]

        self.until(
            lambda: any(wanted in one for one in told()),
            lambda: f"{wanted!r} was not said over Signal; it said {told()}",
            most_s,
        )
        return time.monotonic() - begun_s

    def wait_for_question(self, before: int, most_s: float = ANSWER_S) -> None:
        self.until(lambda: self.questions() > before, "no question with buttons", most_s)

    def questions(self) -> int:
        return sum("reply_markup" in one for one in self.server.world.sent)

    def until(
        self, look: Callable[[], str | bool], complaint: str | Callable[[], str], most_s: float
    ) -> str:
        """Args: `complaint` is made when the time is over, where it says how things are then."""
        deadline_s = time.monotonic() + most_s
        while time.monotonic() < deadline_s:
            if found := look():
                return str(found)
            time.sleep(_LOOK_S)
        said = complaint if isinstance(complaint, str) else complaint()
        raise GuestFailed(f"{said} ({most_s:.0f} s)")

    def _in_loop(self, act: Coroutine[object, object, object]) -> None:
        asyncio.run_coroutine_threadsafe(act, self._telegram.loop).result(ANSWER_S)


def respond(request: Json) -> Reply:
    """An obedient model that also uses any tool that it is told to use by name."""
    messages = request.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else {}
    make = streamed if request.get("stream") else whole
    asked = _last_word_of_user(messages)
    if found := _USE.match(asked):
        return _using(request, found, last, make)
    if found := _ECHO.match(asked):
        return make(found[1])
    return obey(request)


def _using(request: Json, found: re.Match[str], last: Json, make: Callable[..., Reply]) -> Reply:
    """One step nearer to the tool: looked for where it is not offered, called, told of."""
    tools = request.get("tools")
    offered = {one["function"]["name"] for one in tools} if isinstance(tools, list) else set()
    is_found = str(last.get("content")).startswith('{"tools":')
    name, number = found[1], len(request["messages"])  # type: ignore[arg-type]  # it is a list
    if last.get("role") == "tool" and not is_found:
        return make(f"It says {last.get('content')}")
    if name not in offered and "tool_search" in offered and not is_found:
        query = json.dumps({"query": name.replace("_", " ")})
        return make("", Call("tool_search", query, f"call_{number}"))
    return make("", Call(name, found[2], f"call_{number}"))


def _last_word_of_user(messages: object) -> str:
    if not isinstance(messages, list):
        return ""
    said = [one.get("content") for one in messages if one.get("role") == "user"]
    last = said[-1] if said else ""
    return str(last).strip()
