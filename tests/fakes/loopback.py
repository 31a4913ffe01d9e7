"""A platform on a socket of this machine: long polls with an offset, and messages in short parts.

Like a real one it forgets a message once a later offset was asked for, and never takes back what
was sent to it.
"""

import asyncio
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agent.channels.base import Abilities, Channel, Deliver, Pulse
from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Outbound, Provenance
from agent.system.clock import Clock

PART_CHARS = 20
_START_LIMIT_S = 20.0


@dataclass(frozen=True)
class Sent:
    """A part of an answer, as it arrived."""

    answers: str
    part: int
    text: str


class LoopbackPlatform:
    """The platform, in a thread: `say` what a person writes, look at `sent`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "loopback.sock"
        self.sent: list[Sent] = []
        self._said: list[str] = []

    def __enter__(self) -> Self:
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._started.wait(_START_LIMIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def say(self, text: str) -> str:
        """The id that its answer refers to."""
        self._said.append(text)
        self._loop.call_soon_threadsafe(self._news.set)
        return f"m{len(self._said)}"

    def answer(self, message_id: str) -> str:
        """What came as the answer; parts that came again are the same ones."""
        parts: dict[int, str] = {}
        for sent in self.sent:
            if sent.answers == message_id:
                assert parts.setdefault(sent.part, sent.text) == sent.text
        assert sorted(parts) == list(range(len(parts)))
        return "".join(parts[at] for at in sorted(parts))

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over, self._news = asyncio.Event(), asyncio.Event()
        server = await asyncio.start_unix_server(self._talk, self.path)
        self._started.set()
        await self._over.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._do(json.loads(line))).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _do(self, order: dict[str, object]) -> object:
        if "offset" not in order:
            self.sent.append(
                Sent(str(order["answers"]), int(str(order["part"])), str(order["text"]))
            )
            return True
        offset = int(str(order["offset"]))
        while len(self._said) <= offset:
            self._news.clear()
            await self._news.wait()
        return self._said[offset:]


class LoopbackChannel(Channel):
    """Its end in the agent; the offset is the platform's acknowledgement, so it moves last."""

    name = "loopback"
    abilities = Abilities(is_local=True)

    def __init__(self, path: Path, clock: Clock, kept: Path) -> None:
        self.pulse = Pulse(clock)
        self._path = path
        self._clock = clock
        self._kept = kept

    async def listen(self, deliver: Deliver) -> None:
        reader, writer = await asyncio.open_unix_connection(self._path)
        try:
            while True:
                offset = int(self._kept.read_text()) if self._kept.exists() else 0
                writer.write(json.dumps({"offset": offset}).encode() + b"\n")
                for number, text in enumerate(json.loads(await reader.readline()), offset + 1):
                    self.pulse.beat()
                    await deliver(self._inbound(number, text))
                    self._kept.write_text(f"{number}")
        finally:
            writer.close()

    def parts(self, text: str) -> tuple[str, ...]:
        return tuple(text[at : at + PART_CHARS] for at in range(0, len(text), PART_CHARS))

    async def send(self, message: Outbound) -> None:
        order = {"answers": message.in_reply_to, "part": message.part, "text": message.text}
        try:
            reader, writer = await asyncio.open_unix_connection(self._path)
            writer.write(json.dumps(order).encode() + b"\n")
            assert json.loads(await reader.readline()) is True
            writer.close()
        except OSError as err:
            raise ChannelUnavailable(f"the platform is not there: {err}") from err

    def _inbound(self, number: int, text: str) -> Inbound:
        now_s = self._clock.wall_s()
        return Inbound(f"m{number}", self.name, "owner", "home", text, now_s, Provenance.OWNER)
