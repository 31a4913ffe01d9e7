"""Forecast of a call, found out once: for the question where one is put, and for the result."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from msgspec import Struct

from agent.errors import BarnacleError
from agent.passage import Fact
from agent.security.access import may_read
from agent.security.policy import Verdict
from agent.security.shares import READINGS
from agent.tools.base import Arguments, Forecast, ToolContext

_log = logging.getLogger(__name__)

A = TypeVar("A", bound=Arguments)

# A question waits for two minutes; later the past is another one
_FRESH_S = 180.0
# As long as a question waits for it: whoever gave the order waits for the answer
_LONGEST_S = 45.0


class _Asked(Struct, Generic[A], frozen=True):
    """Forecast that stands in a question."""

    arguments: A
    forecast: Forecast | None
    at_s: float

    def is_of(self, arguments: A) -> bool:
        return self.arguments == arguments and time.monotonic() - self.at_s < _FRESH_S


class Foresight(Generic[A]):
    """Forecasts of one tool; the last one that stood in a question is remembered."""

    def __init__(self, find: Callable[[A], Awaitable[Forecast | None]]) -> None:
        self._find = find
        self._asked: _Asked[A] | None = None

    async def asked(self, arguments: A) -> Forecast | None:
        """Return it for whoever is asked about the call.

        Raises:
            BarnacleError: it cannot be foreseen.
        """
        forecast = await self._find(arguments)
        self._asked = _Asked(arguments, forecast, time.monotonic())
        return forecast

    async def told(self, arguments: A, context: ToolContext) -> Mapping[str, Fact]:
        """Return it as fields of the result; empty where readings are not for whoever reads it.

        The drawing is a file of the owner's, and left out where the question has shown it.
        """
        held = context.shares.holdings(READINGS, context.person)
        if may_read(held, context.audience).verdict is not Verdict.ALLOW:
            return {}
        asked, self._asked = self._asked, None
        was_asked = asked is not None and asked.is_of(arguments)
        forecast = asked.forecast if asked and was_asked else await self._found(arguments)
        if forecast is None:
            return {}
        told: dict[str, Fact] = {"rehearsal": forecast.passage}
        picture = forecast.picture
        if picture is not None and context.audience.is_owner_alone and not was_asked:
            told["shown_by"] = forecast.passage.saying(
                f"[IMAGE:{picture.parent.name}/{picture.name}]"
            )
        return told

    async def _found(self, arguments: A) -> Forecast | None:
        try:
            async with asyncio.timeout(_LONGEST_S):
                return await self._find(arguments)
        except TimeoutError:
            _log.warning("rehearsal: not told (reason=it took too long)")
            return None
        except BarnacleError:
            # What is wrong with the call itself is said by the call
            return None
        except Exception:  # noqa: BLE001 - a fault of the forecast must not keep an order from being kept
            _log.exception("rehearsal: failed")
            return None
