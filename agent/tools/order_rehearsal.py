"""Rehearsal of what a job or a watch does: its orders are read, and tried on what was recorded.

Told before it goes live. What cannot be tried is said to be so, and keeps nobody from a yes.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct, field

from agent.errors import BadArguments, BarnacleError, LinkError
from agent.link.base import Board
from agent.link.reflexes import ReflexRule
from agent.messages import Provenance
from agent.readings.order_acts import PastOfOrders, order_conflicts
from agent.readings.rehearsal import Past
from agent.security.sandbox.base import Sandbox
from agent.tools.base import AnyTool, Forecast
from agent.tools.board_words import is_own_word
from agent.tools.conflict_words import conflicts_in_words
from agent.tools.order_trial import OrderTrial, RehearsedBoard, known_times
from agent.tools.plain_orders import PlainOrder, ReadOrders, timed_order
from agent.tools.readings import ReadingDesk
from agent.tools.readings_draw import ReadingArtist
from agent.tools.reflex import acting_rules
from agent.tools.rehearsal_drawing import RehearsalScene, RehearsedBar, drawn, to_be_drawn
from agent.tools.rehearsal_words import (
    FindVoice,
    Occurrences,
    OrderResult,
    RehearsalVoice,
    cut_in_words,
    result_in_words,
    told_of,
    unknown_in_words,
)

_log = logging.getLogger(__name__)

# The owner waits meanwhile; a Pi Zero needs a few seconds for a month
TIMEOUT_S = 20.0


class _Reader(Struct, frozen=True):
    """Reader of a person's words, which answers in them."""

    read: ReadOrders
    find_voice: FindVoice


class OrderRehearsal:
    """Tries the orders of jobs and watches on what was recorded.

    Args:
        read: finds the orders in a text.
        find_voice: of a language.
    """

    def __init__(
        self,
        artist: ReadingArtist,
        boards: Sequence[RehearsedBoard],
        read: ReadOrders,
        find_voice: FindVoice,
    ) -> None:
        self._artist = artist
        self._boards = boards
        self._reader = _Reader(read, find_voice)

    @property
    def desk(self) -> ReadingDesk:
        return self._artist.desk

    @property
    def sandbox(self) -> Sandbox | None:
        """Return what keeps programs apart; None where nothing does."""
        return self._artist.sandbox

    @property
    def _named(self) -> frozenset[str]:
        return frozenset().union(*(home.named for home in self._boards))

    async def forecast(
        self, found: Occurrences | None, order: str, language: str = "en"
    ) -> Forecast:
        """Return what would have come of it at these times; never raises a BarnacleError.

        Args:
            found: None for what has no past, such as a job that comes once.
            order: what is to be done then, in a person's words; empty where nothing is.
        """
        voice = self._reader.find_voice(language)
        told = _Told(voice)
        if found is not None:
            told.lines.append(told_of(found, voice, self.desk.zone))
            if found.watched is not None:
                told.note_names(self._named, [found.watched.reading.name])
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._tried(found, order, language, told)
        except TimeoutError:
            told.lines.append(voice.say("slow"))
        except (BarnacleError, ValueError) as err:
            told.note_words(err)
            told.lines.append(voice.say("failed", why=str(err).rstrip(".")))
        picture = await self._picture(found, told) if found is not None else None
        return Forecast("\n".join(told.lines), picture, told.trust)

    def not_rehearsed(self, why: str, language: str = "en") -> Forecast:
        voice = self._reader.find_voice(language)
        return Forecast(voice.say("failed", why=why.rstrip(".")))

    async def without_history(self, name: str, order: str, language: str = "en") -> Forecast:
        """Return that nothing is known of a reading, and the conflicts that need no past."""
        said = self._reader.find_voice(language).say("no_readings", name=name)
        others = await self.forecast(None, order, language)
        return Forecast("\n".join(filter(None, (said, others.words))))

    async def _tried(
        self, found: Occurrences | None, order: str, language: str, told: "_Told"
    ) -> None:
        if not order:
            return
        tools = {tool.name: (one, tool) for one in self._boards for tool in one.tools()}
        specs = [tool.spec() for _, tool in tools.values()]
        calls = await self._reader.read(order, language, specs)
        placed = [(*tools[call.tool], call) for call in calls if call.tool in tools]
        if not placed or len(placed) < len(calls):
            if found is not None:
                told.lines.append(told.voice.say("undecided"))
            return
        for home in self._boards:
            mine = [(tool, call) for one, tool, call in placed if one is home]
            if mine:
                await self._tried_on(home, mine, found, told)

    async def _tried_on(
        self,
        home: RehearsedBoard,
        calls: Sequence[tuple[AnyTool, PlainOrder]],
        found: Occurrences | None,
        told: "_Told",
    ) -> None:
        manifest = home.board.manifest
        if manifest is None:
            told.lines.append(told.voice.say("undecided"))
            return
        try:
            writes = [timed_order(manifest, home.board.name, *call) for call in calls]
        except BadArguments as err:
            told.note_words(err)
            told.lines.append(told.voice.say("invalid", why=str(err).rstrip(".")))
            return
        orders = [one for one in writes if one is not None]
        if len(orders) < len(calls):
            told.lines.append(told.voice.say("undecided"))
            return
        rules = await self._rules(home.board, told)
        conflicts = await order_conflicts(home.board, orders, rules, self.sandbox)
        if conflicts:
            # Reflexes have the board's names
            told.trust = Provenance.SENSOR
        told.lines += conflicts_in_words(manifest, rules, conflicts, told.voice)
        if found is not None and found.times_ms:
            await self._carried_out(OrderTrial(home, manifest, orders, rules), found, told)

    async def _rules(self, board: Board, told: "_Told") -> list[ReflexRule]:
        try:
            return await acting_rules(board)
        except LinkError:
            told.lines.append(told.voice.say("no_reflexes"))
            return []

    async def _carried_out(self, trial: OrderTrial, found: Occurrences, told: "_Told") -> None:
        past = await trial.past(self.desk.store, found.span)
        told.past += past
        needed = [one for one in past if one.reading.name in trial.needed]
        names = [one.reading.name for one in needed]
        if missing := [one.reading.name for one in needed if not len(one.rows)]:
            told.lines.append(told.voice.say("no_readings", name=", ".join(missing)))
            told.note_names(trial.home.named, missing)
            return
        known_ms = list(found.times_ms)
        for one in needed:
            known_ms = known_times(one, known_ms)
        kept = PastOfOrders(found.span, past)
        done = await trial.carried_out(known_ms, kept, self.sandbox)
        if done.is_cut:
            told.lines.append(cut_in_words(done.span, told.voice, self.desk.zone))
        told.note_results(trial.home, trial.results(done))
        if unknown := len(found.times_ms) - len(known_ms):
            told.lines.append(unknown_in_words(unknown, names, told.voice))

    async def _picture(self, found: Occurrences, told: "_Told") -> Path | None:
        """Return the drawing of what is watched, or of what the orders depend on."""
        past = found.watched or to_be_drawn(told.past)
        if past is None:
            return None
        bars = told.bars or [RehearsedBar(found.name, [(at, at) for at in found.times_ms])]
        scene = RehearsalScene(found.name, past, found.span, bars, found.limits)
        return await drawn(self._artist, scene)


class _Told(Struct):
    """Lines so far, what is to be drawn, and the trust of the least trusted word."""

    voice: RehearsalVoice
    lines: list[str] = field(default_factory=list)
    past: list[Past] = field(default_factory=list)
    bars: list[RehearsedBar] = field(default_factory=list)
    trust: Provenance = Provenance.OWNER

    def note_words(self, err: Exception) -> None:
        """Trust the whole no more than a reason that may have the board's words in it."""
        self.trust = Provenance.SENSOR
        _log.info("rehearsal: not tried (reason=%s)", err)

    def note_names(self, named: Collection[str], names: Sequence[str]) -> None:
        """Trust the whole no more than a board's own word that stands in it.

        Args:
            named: names that the owner gave.
        """
        if not all(is_own_word(name, named) for name in names):
            self.trust = Provenance.SENSOR

    def note_results(self, home: RehearsedBoard, results: Sequence[OrderResult]) -> None:
        for one in results:
            self.lines.append(result_in_words(one, self.voice))
            self.note_names(home.named, [one.order.output, *(name for name, _ in one.needs)])
            times_ms = [(act.begin_ms, act.end_ms) for act in one.acts if not act.code]
            self.bars.append(RehearsedBar(one.order.output, times_ms))
