"""Mirror of the boards at the broker: measured values, not wished ones.

Looks and publishes; nothing here changes a board.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.described_topics import DescribedTopics
from agent.channels.mqtt.home_assistant import HomeAssistantDevice, described, names_of
from agent.channels.mqtt.messages import OFFLINE, ONLINE, MqttTopics
from agent.channels.mqtt.retained import EARLIER, earlier, publish, renew
from agent.errors import LinkError
from agent.link.base import Board, BoardState, Value
from agent.link.manifest import BoardPin, Manifest, Method
from agent.link.readings import read_method
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# The broker's word on it is the channel's sign of life, so it is within the supervisor's patience
ALIVE_EVERY_S = 25.0
# A board that has just answered a command shows its new value; others in the room are quick too
_SETTLE_S = 0.2


class BoardMirror:
    """Mirror of boards; `look_again` makes it read at once.

    Args:
        described: what was described before this start.
    """

    def __init__(
        self,
        boards: Sequence[Board],
        topics: MqttTopics,
        every_s: int,
        clock: Clock,
        described: DescribedTopics,
    ) -> None:
        self._boards = boards
        self._topics = topics
        self._every_s = every_s
        self._clock = clock
        self._described = described
        self._wanted = asyncio.Event()

    def look_again(self) -> None:
        self._wanted.set()

    async def run(self, connection: MqttConnection, device: HomeAssistantDevice) -> None:
        """Keep the broker up to date until the connection is gone.

        Raises:
            ChannelError: it is gone.
        """
        shown = await earlier(self._described)
        next_look_s = 0.0
        while True:
            # Said again without need, so that the broker answers
            await publish(connection, {self._topics.status: ONLINE.encode()})
            if self._clock.monotonic_s() >= next_look_s or self._wanted.is_set():
                self._wanted.clear()
                now = await self._looked_at(device)
                await self._described.add(now)
                shown = await renew(connection, now, shown, repeats=True)
                await self._described.keep_only(shown)
                next_look_s = self._clock.monotonic_s() + self._every_s
            wait_s = min(ALIVE_EVERY_S, max(next_look_s - self._clock.monotonic_s(), _SETTLE_S))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._wanted.wait()
                    await self._clock.sleep(_SETTLE_S)

    async def _looked_at(self, device: HomeAssistantDevice) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for board in self._boards:
            is_there = board.status.state is BoardState.READY
            found[self._topics.board(board.name)] = (ONLINE if is_there else OFFLINE).encode()
            if board.manifest is None:
                # Nobody knows yet whether it still has them
                of_board = f"/{names_of(board, device)}"
                every = await self._described.every()
                found |= {topic: EARLIER for topic in every if of_board in topic}
            found |= described(board, self._topics, device)
            if is_there:
                found |= await self._values(board)
        return found

    async def _values(self, board: Board) -> dict[str, bytes]:
        assert board.manifest is not None
        found: dict[str, bytes] = {}
        for name, method, pin in _looks(board.manifest):
            arguments = {method.arguments[0].name: pin.name} if pin is not None else {}
            try:
                told = await board.call(method.name, arguments)
            except LinkError as err:
                _log.debug(
                    "mqtt: reading not shown (name=%s, board=%s, reason=%s)", name, board.name, err
                )
                continue
            found |= {
                self._topics.value(board.name, one): _text(value)
                for one, value in _named(name, told)
            }
        return found


def _looks(manifest: Manifest) -> Iterator[tuple[str, Method, BoardPin | None]]:
    """Yield the readings: name, method, and pin."""
    for pin in manifest.pins:
        if (method := read_method(manifest, pin)) is not None:
            yield pin.name, method, pin
    alone = manifest.method("mcu_temperature")
    if alone is not None and not alone.arguments and alone.result:
        yield alone.name, alone, None


def _named(name: str, told: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    for field, value in told.items():
        yield (name if field == "value" else f"{name}.{field}"), value


def _text(value: Value) -> bytes:
    # A counter's seconds have more digits than six
    return (f"{value:.10g}" if isinstance(value, float) else str(value)).encode()
