"""Timer orders: checked, stored, and bound to the person who gives them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo

from msgspec.structs import replace

from agent.errors import BadArguments
from agent.passage import Fact, Passage, Provenance, configured, echo, joined, outside, own
from agent.schedule.job_book import OWNER
from agent.schedule.timer import (
    MAX_SECONDS,
    CountdownTimer,
    Instant,
    TimerState,
    as_of,
    left_s,
    span,
)
from agent.schedule.timer_store import TimerStore
from agent.schedule.zone import local_zone
from agent.text.printable import printable_line
from agent.tools.base import ToolContext
from agent.tools.timer import (
    TimerCancelArguments,
    TimerChangeArguments,
    TimerStartArguments,
    WhichTimer,
)

# A timer's own words are cut: a list is looked over
_SHOWN_CHARS = 120


class TimerBook:
    """Implements `agent.tools.timer.Timers`.

    Args:
        now: what the clocks say.
        changed: is told of every change.
    """

    def __init__(
        self,
        store: TimerStore,
        now: Callable[[], Instant],
        changed: Callable[[], None] = lambda: None,
        zone: Callable[[], tzinfo] = local_zone,
    ) -> None:
        self._store = store
        self._now = now
        self._changed = changed
        self._zone = zone

    async def start(self, wanted: TimerStartArguments, context: ToolContext) -> Mapping[str, Fact]:
        return await self.keep(wanted, "", context)

    async def keep(
        self, wanted: TimerStartArguments, text: str, context: ToolContext
    ) -> Mapping[str, Fact]:
        """Start a timer that says a text at its end, or its usual words."""
        place = context.place
        if place is None:
            raise BadArguments(own("set a timer in a conversation; a job cannot set timers"))
        if wanted.order.lstrip().startswith("/"):
            raise BadArguments(own("an order must be plain words, not a command"))
        timer = CountdownTimer(
            number=0,
            seconds=wanted.seconds,
            channel=place.channel,
            target=place.target,
            thread=place.thread,
            sender=place.person,
            is_group=context.is_group,
            person=context.person,
            trust=int(context.provenance),
            name=wanted.name.strip(),
            order=wanted.order.strip(),
            text=text.strip(),
            language=wanted.language,
        )
        if timer.name and _find(await self.of(context.person), WhichTimer(name=timer.name)):
            name = echo(timer.name)
            raise BadArguments(own("a timer {} already exists: choose another name", name))
        now = self._now()
        kept = await asyncio.to_thread(self._store.add, as_of(timer, now, wanted.seconds))
        self._changed()
        return self._told(kept, now)

    async def told_to(self, person: str) -> str:
        """Return a person's timers in words; "" if there are none."""
        now = self._now()
        return "\n".join(_sentence(timer, left_s(timer, now)) for timer in await self.of(person))

    async def every(self) -> Sequence[Mapping[str, Fact]]:
        """Return all timers as the owner sees them."""
        now = self._now()
        return [
            {"timer": timer.number, "of": _said(timer, timer.person), **self._told(timer, now)}
            for timer in await self.of(OWNER)
        ]

    async def of(self, person: str) -> list[CountdownTimer]:
        """Return the timers that a person may see, their own first."""
        every = await asyncio.to_thread(self._store.every)
        own = [timer for timer in every if timer.person == person]
        others = [timer for timer in every if timer.person != person]
        return own + others if person == OWNER else own

    async def listed(self, which: WhichTimer, context: ToolContext) -> Sequence[Mapping[str, Fact]]:
        timers = await self.of(context.person)
        meant = _find(timers, which) if _is_told(which) else _of_kind(timers, which)
        if _is_told(which) and not meant:
            raise BadArguments(_none_like_that(timers, which))
        now = self._now()
        return [
            {
                "number": timers.index(timer) + 1,
                **self._told(timer, now),
                **({"of": _said(timer, timer.person)} if timer.person != context.person else {}),
            }
            for timer in meant
        ]

    async def change(
        self, wanted: TimerChangeArguments, context: ToolContext
    ) -> Mapping[str, Fact]:
        if not wanted.add_seconds and not wanted.state:
            raise BadArguments(own("say what to change: add_seconds or state"))
        timer = self._one(await self.of(context.person), wanted)
        now = self._now()

        def change(before: CountdownTimer) -> CountdownTimer:
            left = max(0.0, left_s(before, now) + wanted.add_seconds)
            if left > MAX_SECONDS:
                raise BadArguments(own("a timer lasts {} days at most", MAX_SECONDS // 86_400))
            state = TimerState(wanted.state) if wanted.state else before.state
            return replace(as_of(before, now, left), state=state)

        changed = await asyncio.to_thread(self._store.change, timer.number, change)
        self._changed()
        return self._told(changed, now)

    async def cancel(
        self, wanted: TimerCancelArguments, context: ToolContext
    ) -> Sequence[Mapping[str, Fact]]:
        timers = await self.of(context.person)
        if wanted.all:
            own = [timer for timer in timers if timer.person == context.person]
            found = _find if _is_told(wanted) else _fitting
            meant = found(own, wanted)
            if not meant:
                raise BadArguments(_none_like_that(own, wanted))
        else:
            meant = [self._one(timers, wanted)]
        now = self._now()
        for timer in meant:
            await asyncio.to_thread(self._store.remove, timer.number)
        self._changed()
        return [self._told(timer, now) for timer in meant]

    def _one(self, timers: Sequence[CountdownTimer], which: WhichTimer) -> CountdownTimer:
        meant = _find(timers, which)
        if not meant:
            raise BadArguments(_none_like_that(timers, which))
        if len(meant) > 1:
            several = "there are several {}, say which: {}"
            raise BadArguments(own(several, configured(_kind(which) + "s"), _listing(meant)))
        return meant[0]

    def _told(self, timer: CountdownTimer, now: Instant) -> dict[str, Fact]:
        left = max(0.0, left_s(timer, now))
        told: dict[str, Fact] = {
            "seconds": timer.seconds,
            "left_seconds": round(left),
            "state": timer.state,
        }
        words = {"name": timer.name, "order": timer.order, "text": timer.text}
        told |= {key: _said(timer, value) for key, value in words.items() if value}
        if now.is_trusted and timer.state is TimerState.RUNNING:
            ends = datetime.fromtimestamp(now.wall_s + left, self._zone())
            told["ends"] = configured(ends.isoformat(timespec="seconds"))
        return told


def _is_told(which: WhichTimer) -> bool:
    return bool(which.name or which.number or which.set_for_seconds)


def _find(timers: Sequence[CountdownTimer], which: WhichTimer) -> list[CountdownTimer]:
    """Return matching timers; a person's own before those of others, named before unnamed."""
    if which.number:
        return list(timers[which.number - 1 : which.number])
    fitting = _fitting(timers, which)
    own = [timer for timer in fitting if timer.person == timers[0].person]
    fitting = own or fitting
    if len(fitting) > 1 and not _is_told(which):
        # What was meant for an end of its own is not "the timer" while there is a plain one
        return [timer for timer in fitting if not timer.order] or fitting
    return fitting


def _fitting(timers: Sequence[CountdownTimer], which: WhichTimer) -> list[CountdownTimer]:
    return [timer for timer in timers if _fits(timer, which)]


def _fits(timer: CountdownTimer, which: WhichTimer) -> bool:
    if which.set_for_seconds and which.set_for_seconds != timer.seconds:
        return False
    if which.name and which.reminder:
        # People say a part of what they wanted to be reminded of
        return _plain(which.name) in _plain(timer.text)
    if which.name:
        return _plain(which.name) in {_plain(timer.name), _plain(timer.text)} - {""}
    return bool(timer.text) is which.reminder


def _of_kind(timers: Sequence[CountdownTimer], which: WhichTimer) -> list[CountdownTimer]:
    """Return the reminders alone if they are meant, else all."""
    return [timer for timer in timers if timer.text or not which.reminder]


def _kind(which: WhichTimer) -> str:
    return "reminder" if which.reminder else "timer"


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _said(timer: CountdownTimer, words: str) -> Passage:
    """Return the words of a timer with the trust of its turn."""
    return outside(words, Provenance(timer.trust), f"timer:{timer.number}")


def _none_like_that(timers: Sequence[CountdownTimer], which: WhichTimer) -> Passage:
    kind, there = configured(_kind(which)), _of_kind(timers, which)
    if not there:
        return own("there is no {}", kind)
    return own("no {} matches; there are: {}", kind, _listing(there))


def _listing(timers: Sequence[CountdownTimer]) -> Passage:
    told = (_said(one, one.name or one.text or span(one.seconds)) for one in timers)
    return joined(", ", told)


def _sentence(timer: CountdownTimer, left: float) -> str:
    name = f" {timer.name}" if timer.name else ""
    what = printable_line(timer.order or timer.text, _SHOWN_CHARS)
    does = f": {what}" if what else ""
    state = "" if timer.state is TimerState.RUNNING else ", paused"
    left_told = f"{span(max(0.0, left))} left{state}"
    return f"timer{name} of {span(timer.seconds)}: {left_told}, to {timer.channel}{does}"
