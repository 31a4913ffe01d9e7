"""Home: how the device is, what is on, and what happened last."""

import asyncio
from collections.abc import Mapping
from typing import Any

from agent import __version__
from agent.access.people import Person
from agent.access.roles import PersonRole
from agent.app.build import Agent
from agent.app.console.board import BoardView, switched_pins
from agent.app.console.records import latest_rows, may_see_readings, sparklines
from agent.app.console.setup_lines import is_first
from agent.link.base import BoardState

# What happened last, on one screen
_MOST_ROWS = 8


class HomeView:
    """The first page; a guest sees only whether it is well."""

    def __init__(self, agent: Agent, board: BoardView) -> None:
        self._agent = agent
        self._board = board
        self._since_s = agent.clock.wall_s()

    async def read(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the page's data; the curves only where they are asked for."""
        agent = self._agent
        told: dict[str, Any] = {
            "name": agent.settings.agent.name,
            "person": person.name,
            "role": person.role,
            "stopped": agent.stop.reason,
            "questions": agent.activity.questions,
            "turns": agent.activity.turns,
        }
        if person.rank < PersonRole.USER:
            return told
        told |= await self._state()
        if may_see_readings(agent, person):
            is_whole = arguments.get("curves") == "yes"
            told["readings"] = await sparklines(agent, is_whole=is_whole)
        if person.rank is PersonRole.OWNER:
            told["happened"] = await latest_rows(agent, _MOST_ROWS, only_effects=True)
            if arguments.get("curves") == "yes":
                told["is_new"] = await asyncio.to_thread(is_first, agent.paths.config)
        return told

    async def _state(self) -> dict[str, Any]:
        agent = self._agent
        values = await self._board.values()
        return {
            "version": __version__,
            "since_s": self._since_s,
            "provider": agent.provider.name,
            "provider_trouble": str(agent.provider.trouble or ""),
            "boards": [
                {
                    "name": board.name,
                    "state": board.status.state.value,
                    "is_ready": board.status.state is BoardState.READY,
                    "kind": board.status.identity.board if board.status.identity else "",
                    "trouble": board.status.trouble,
                }
                for board in agent.boards
            ],
            "on": [
                {"board": board, "name": name, "held": self._is_held(board, name)}
                for (board, name), value in values.items()
                if value == "on" and self._is_output(board, name)
            ],
            "troubles": {**agent.activity.troubles, **agent.activity.gaps},
            "machine": list(agent.machine_health.sentences()),
            "memory": agent.memory.sentence(),
            "spending": agent.providers.spending(),
            "last_error": agent.last_error.text,
            "last_error_at_s": agent.last_error.at_s,
        }

    def _is_held(self, board: str, pin: str) -> bool:
        return any(one.name == board and pin in one.held for one in self._agent.boards)

    def _is_output(self, board: str, pin: str) -> bool:
        manifests = (one.manifest for one in self._agent.boards if one.name == board)
        return any(pin in switched_pins(manifest) for manifest in manifests)
