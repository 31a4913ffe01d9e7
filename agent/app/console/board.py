"""The boards as their page shows them: what each pin is, may and does now.

Looks only. Nobody looks while no page is open: a pin is asked when a page asks for it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from agent.access.people import Person
from agent.app.build import Agent
from agent.app.console.files import ConsoleFiles
from agent.errors import BadArguments, LinkError
from agent.link.base import BoardState, Value
from agent.link.board import SerialBoard
from agent.link.leases import MOVING
from agent.link.manifest import BoardPin, Manifest, Method
from agent.link.readings import read_method, settings
from agent.messages import Attachment

if TYPE_CHECKING:
    from agent.readings.series import Series
    from agent.readings.summary import Moment

# Several pages at once are one look; a pin that changes is seen within two of them
FRESH_S = 0.08
_SWITCH = ("off", "on")


class BoardView:
    """Boards, pins and their present values.

    Args:
        files: by which a page fetches the picture of a rehearsal.
    """

    def __init__(self, agent: Agent, files: ConsoleFiles | None = None) -> None:
        self._agent = agent
        self._files = files
        self._looking = asyncio.Lock()
        self._looked_s = -FRESH_S
        self._values: dict[tuple[str, str], Value] = {}

    async def read(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return all that the page shows."""
        values = await self.values()
        newest = self._agent.peripherals.newest_readings() if self._may_see(person) else {}
        return {
            "stopped": self._agent.stop.reason,
            "boards": [self._board(board, values, newest) for board in self._agent.boards],
        }

    async def reflexes(self, person: Person, arguments: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the rules of each board that is there, or why it did not tell them."""
        from agent.tools.reflex import listed  # noqa: PLC0415 - for those who look

        told = []
        for board in self._agent.boards:
            if board.status.state is not BoardState.READY:
                continue
            one: dict[str, Any] = {"board": board.name, "rules": [], "why": ""}
            try:
                one["rules"] = await listed(board)
            except (LinkError, BadArguments) as err:
                one["why"] = str(err)
            told.append(one)
        return told

    async def rehearse(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return what a reflex would have done in the last weeks, with the picture's name."""
        from agent.tools.reflex import foreseen  # noqa: PLC0415 - as above

        name = arguments.get("name", "")
        board = next(
            (one for one in self._agent.boards if one.name == arguments.get("board")), None
        )
        if board is None or not self._may_see(person):
            raise BadArguments("there is no such board, or its readings are not shared with you")
        found = await foreseen(board, self._agent.peripherals.rehearsal(), name)
        if found is None:
            raise BadArguments(f"there is no reflex {name!r}, or nothing is recorded here")
        pictures: tuple[str, ...] = ()
        if found.picture is not None and self._files is not None:
            file = Attachment(str(found.picture), "image/png", found.picture.name)
            pictures = self._files.show(arguments["browser"], [file])
        return {"name": name, "words": found.words, "pictures": list(pictures)}

    async def values(self) -> Mapping[tuple[str, str], Value]:
        """Return the switches of all boards, by board and pin."""
        async with self._looking:
            now_s = self._agent.clock.monotonic_s()
            if now_s - self._looked_s >= FRESH_S:
                self._values = {key: value async for key, value in self._look()}
                self._looked_s = self._agent.clock.monotonic_s()
        return self._values

    async def _look(self) -> AsyncIterator[tuple[tuple[str, str], Value]]:
        for board in self._agent.boards:
            if board.status.state is not BoardState.READY or board.manifest is None:
                continue
            for pin, method in _switches(board.manifest):
                try:
                    told = await board.call(method.name, {method.arguments[0].name: pin.name})
                except LinkError:
                    # Refused, or pulled out: the page says that it is not known
                    continue
                yield (board.name, pin.name), told[method.result[0].name]

    def _may_see(self, person: Person) -> bool:
        from agent.app.console.records import may_see_readings  # noqa: PLC0415 - of one kind

        return may_see_readings(self._agent, person)

    def _board(
        self,
        board: SerialBoard,
        values: Mapping[tuple[str, str], Value],
        newest: "Mapping[Series, Moment]",
    ) -> dict[str, Any]:
        status, known = board.status, board.status.identity
        pins = board.manifest.pins if board.manifest else ()
        held, switched = board.held, switched_pins(board.manifest)
        shown = {series.name: (series, moment) for series, moment in newest.items()}
        prefix = "" if len(self._agent.boards) == 1 else f"{board.name}:"
        return {
            "name": board.name,
            "state": status.state.value,
            "port": status.port,
            "trouble": status.trouble,
            "kind": known.board if known else "",
            "firmware": known.firmware if known else "",
            "pending": list(board.pending),
            "pins": [
                {
                    **_described(pin),
                    "is_switch": pin.name in switched,
                    "held": pin.name in held,
                    "value": values.get((board.name, pin.name)),
                    "readings": [
                        {
                            "name": series.name,
                            "value": moment.value,
                            "unit": series.kind.unit,
                            "at_ms": moment.at_ms,
                        }
                        for name, (series, moment) in shown.items()
                        if name.removeprefix(prefix).partition(".")[0] == pin.name
                        and not series.kind.is_switch
                    ],
                }
                for pin in pins
            ],
        }


def switched_pins(manifest: Manifest | None) -> frozenset[str]:
    """Return the outputs that are on or off."""
    every = settings(manifest) if manifest is not None else ()
    return frozenset(one.pin.name for one in every if one.field.choices == _SWITCH)


def _switches(manifest: Manifest) -> Iterator[tuple[BoardPin, Method]]:
    for pin in manifest.pins:
        method = read_method(manifest, pin)
        if method is not None and method.result and method.result[0].choices == _SWITCH:
            yield pin, method


def _described(pin: BoardPin) -> dict[str, Any]:
    return {
        "name": pin.name,
        "pin": pin.pin,
        "aliases": list(pin.aliases),
        "place": pin.place,
        "can": list(pin.can),
        "is_output": not MOVING.isdisjoint(pin.can),
        "safe": pin.safe,
        "lease_ms": pin.lease_ms,
        "max_on_ms": pin.max_on_ms,
        "min_off_ms": pin.min_off_ms,
        "per_minute": pin.per_minute,
        "needs": [[name, value] for name, value in pin.needs],
        "safety": pin.safety,
    }
