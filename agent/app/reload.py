"""A changed configuration file, taken up while the agent is at work: validated whole or not used.

What can be exchanged is, in one moment; the rest waits for a restart and is named. Safety limits
become tighter at once; looser only when the owner says yes to exactly that, or by a restart.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from agent.access.owner import Tell
from agent.approvals.questions import QUESTION_TIMEOUT_S
from agent.channels.base import Answer, Question
from agent.config import ConfigSection, load
from agent.errors import BarnacleError, ConfigRefused
from agent.memory.settings import MemorySettings
from agent.providers.settings import ProviderSettings
from agent.security.policy import ActLimits, Autonomy, PolicyRule, Verdict
from agent.settings import Settings
from agent.system import logs
from agent.system.clock import Clock
from agent.system.folder_watch import FolderWatch
from agent.turn.settings import AgentSettings, RuleSettings

# From the least that may be done to the most
_AUTONOMY = (Autonomy.READONLY, Autonomy.SUPERVISED, Autonomy.FULL)
_STRICTNESS = {None: 0, Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


def looser_limits(old: AgentSettings, new: AgentSettings) -> tuple[str, ...]:
    """The keys that are looser in the new settings, in the order in which they are written."""
    return tuple(_loosened(old, new))


def _loosened(old: AgentSettings, new: AgentSettings) -> Iterator[str]:
    if _AUTONOMY.index(new.autonomy) > _AUTONOMY.index(old.autonomy):
        yield "agent.autonomy"
    if not {*old.presence_for} <= {*new.presence_for}:
        yield "agent.presence_for"
    before = {rule.name: rule for rule in old.policy.rules}
    after = {rule.name: rule for rule in new.policy.rules}
    for name in {**before, **after}:
        if _is_looser_rule(before.get(name), after.get(name)):
            yield f"agent.rules.{name}"
    if _are_looser(old.policy.limits, new.policy.limits) and not _all_tighter(old, new):
        yield "agent.rules"


def tighter_limits(old: AgentSettings, new: AgentSettings) -> AgentSettings:
    """Return the old settings with those limits of the new ones that are no looser."""
    looser = frozenset(looser_limits(old, new))
    is_wider = "agent.rules" in looser
    rules = {
        name: rule
        for name, rule in new.rules.items()
        if f"agent.rules.{name}" not in looser and not (is_wider and _is_for_everything(rule))
    }
    left = [
        name
        for name, rule in old.rules.items()
        if f"agent.rules.{name}" in looser or (is_wider and _is_for_everything(rule))
    ]
    more = tuple(one for one in new.presence_for if one not in old.presence_for)
    return msgspec.structs.replace(
        old,
        autonomy=old.autonomy if "agent.autonomy" in looser else new.autonomy,
        presence_for=(
            (*old.presence_for, *more) if "agent.presence_for" in looser else new.presence_for
        ),
        rules=rules | {name: old.rules[name] for name in left},
    )


def _is_for_everything(rule: RuleSettings) -> bool:
    return rule.tool == "*" and not rule.where


def _is_looser_rule(before: PolicyRule | None, after: PolicyRule | None) -> bool:
    if before is None:
        # A new rule takes nothing away from what others refuse, unless it allows
        return after is not None and after.verdict is Verdict.ALLOW
    if after is None:
        return before.verdict is not Verdict.ALLOW or before.limits != ActLimits()
    if (before.tool, before.where) != (after.tool, after.where):
        return True
    return _STRICTNESS[after.verdict] < _STRICTNESS[before.verdict] or (
        after.verdict is Verdict.ALLOW and before.verdict is not Verdict.ALLOW
    ) or _are_looser(before.limits, after.limits)  # fmt: skip


def _all_tighter(old: AgentSettings, new: AgentSettings) -> bool:
    """The usual limits give way to a rule of the owner's for everything that is no looser."""
    usual = old.policy.limits
    own = [rule.limits for rule in new.policy.rules if rule.tool == "*" and not rule.where]
    return any(not _are_looser(usual, limits) for limits in own)


def _are_looser(before: ActLimits, after: ActLimits) -> bool:
    pairs = (
        (before.per_turn, after.per_turn),
        (before.per_hour, after.per_hour),
        (before.per_day, after.per_day),
    )
    return any(old is not None and (new is None or new > old) for old, new in pairs)


_log = logging.getLogger(__name__)
_Service = TypeVar("_Service", bound=ProviderSettings)

# How soon a change is noticed where the kernel does not tell; each look is one stat
LOOK_S = 2.0
# How soon where it does, should the file be on another machine
WATCHED_S = 60.0
# What an editor does in several steps is done by then
SETTLE_S = 0.2
# The limits that a person has to agree to when they become looser
_SAFETY = ("autonomy", "presence_for", "rules")
_PLAIN = ("name", "turn_timeout_s", "history_tokens", "show_tool_calls", "show_thoughts")
_RECALL = ("recall_limit", "min_score")
# Of a model service: its keys, and what it is asked for
_SERVICE = (
    *("api_key", "more_keys", "model", "temperature", "max_tokens", "context_tokens"),
    *("tool_calls", "vision", "timeout_s", "first_byte_timeout_s"),
)
# Where it is asked. Another place needs a restart, and what is meant for it waits: a key would go
# to the old one
_PLACE = ("kind", "base_url", "program")
# Named in one message; a file that changed in more places was replaced
_MAX_NAMED = 12


class ReloadTargets(Struct, frozen=True):
    """Receivers of a new configuration.

    Args:
        adopt: limits and settings of turns; each turn and each decision looks at them anew.
        renew: everything that answers, with other keys and models; returns false where nothing does
            that could be renewed.

    Raises:
        ConfigRefused: of `renew`, before anything was changed.
    """

    adopt: Callable[[AgentSettings, MemorySettings], None]
    renew: Callable[[Settings], Awaitable[bool]]
    confirm: Callable[[Question], Awaitable[Answer]]
    tell: Tell


class Reloader:
    """Keeps the agent's settings as its file says, as far as that can be done at work."""

    def __init__(
        self, path: Path, running: Settings, exchanges: ReloadTargets, clock: Clock
    ) -> None:
        self.running = running
        self._path = path
        self._exchanges = exchanges
        self._clock = clock
        self._seen: tuple[int, ...] | None = None

    async def run(self) -> None:
        """Look at the file whenever it may have changed; until cancelled."""
        changes = FolderWatch(self._path.parent, self._clock, LOOK_S, also_written=True)
        try:
            while True:
                await self.look()
                if await changes.wait(WATCHED_S):
                    # An editor may need more than one step
                    await self._clock.sleep(SETTLE_S)
        finally:
            changes.close()

    async def look(self) -> None:
        """Take up the file if it is another one than at the last look."""
        stamp = await asyncio.to_thread(_stamp, self._path)
        if stamp == self._seen:
            return
        self._seen = stamp
        try:
            wanted = await asyncio.to_thread(load, self._path, Settings)
        except ConfigRefused as err:
            await self._refuse(err)
            return
        await self._take(wanted)

    async def _refuse(self, err: BarnacleError) -> None:
        _log.warning("config: change not used (error=%s)", err)
        said = "The configuration file changed, but it has errors. I keep using the previous one."
        await self._exchanges.tell(f"{said}\n{err}")

    async def _take(self, wanted: Settings) -> None:
        before = self.running
        try:
            await self._renew(wanted)
        except BarnacleError as err:
            await self._refuse(err)
            return
        looser = looser_limits(before.agent, wanted.agent)
        self._adopt(wanted, tighter_limits(before.agent, wanted.agent))
        if looser and await self._is_agreed(wanted, looser):
            self._adopt(wanted, wanted.agent)
        later = tuple(differences(self.running, wanted))
        taken = tuple(differences(before, self.running))
        if taken or later:
            await self._exchanges.tell(_told(taken, later, looser))

    async def _renew(self, wanted: Settings) -> None:
        renewed = msgspec.structs.replace(
            self.running,
            provider=_renewed(self.running.provider, wanted.provider),
            providers={
                name: _renewed(service, wanted.providers.get(name, service))
                for name, service in self.running.providers.items()
            },
        )
        if renewed != self.running and await self._exchanges.renew(renewed):
            self.running = renewed

    def _adopt(self, wanted: Settings, limits: AgentSettings) -> None:
        agent = _with(_with(self.running.agent, wanted.agent, _PLAIN), limits, _SAFETY)
        memory = _with(self.running.memory, wanted.memory, _RECALL)
        self._exchanges.adopt(agent, memory)
        logs.set_level(wanted.log)
        self.running = msgspec.structs.replace(
            self.running, agent=agent, memory=memory, log=wanted.log
        )

    async def _is_agreed(self, wanted: Settings, looser: tuple[str, ...]) -> bool:
        values = {name: getattr(wanted.agent, name) for name in _SAFETY}
        shown = json.dumps(msgspec.to_builtins(values), ensure_ascii=False)
        reason = f"the configuration file makes {', '.join(looser)} looser"
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT_S):
                answer = await self._exchanges.confirm(Question("configuration", shown, reason))
        except TimeoutError:
            return False
        return answer is Answer.YES


def differences(old: ConfigSection, new: ConfigSection, where: str = "") -> list[str]:
    """The keys that two configurations do not have in common."""
    found: list[str] = []
    for name in old.__struct_fields__:
        was, becomes = getattr(old, name), getattr(new, name)
        found += _different(was, becomes, f"{where}{name}")
    return found


def _different(was: Any, becomes: Any, key: str) -> list[str]:
    if isinstance(was, ConfigSection) and isinstance(becomes, ConfigSection):
        return differences(was, becomes, f"{key}.")
    if isinstance(was, dict) and isinstance(becomes, dict):
        names = {**was, **becomes}
        return [
            each
            for name in names
            for each in _different(was.get(name), becomes.get(name), f"{key}.{name}")
        ]
    return [] if was == becomes else [key]


def _renewed(own: _Service, other: ProviderSettings) -> _Service:
    is_elsewhere = any(getattr(own, name) != getattr(other, name) for name in _PLACE)
    renewed: _Service = own if is_elsewhere else _with(own, other, _SERVICE)
    return renewed


def _with(own: Any, other: Any, names: tuple[str, ...]) -> Any:
    return msgspec.structs.replace(own, **{name: getattr(other, name) for name in names})


def _stamp(path: Path) -> tuple[int, ...]:
    """Another one when the file is another; empty while it is not there."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _told(taken: tuple[str, ...], later: tuple[str, ...], looser: tuple[str, ...]) -> str:
    lines = ["The configuration was changed."]
    if taken:
        lines.append(f"Active now: {_named(taken)}.")
    waiting = [key for key in later if key.startswith(looser)]
    if waiting:
        lines.append(f"Looser and not approved; active after a restart: {_named(waiting)}.")
    if rest := [key for key in later if key not in waiting]:
        lines.append(f"Active after a restart: {_named(rest)}.")
    return "\n".join(lines)


def _named(keys: tuple[str, ...] | list[str]) -> str:
    more = len(keys) - _MAX_NAMED
    return ", ".join(keys[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
