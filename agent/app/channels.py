"""Composition of the channels: those of the configured platforms, no others."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agent.channels.base import Channel
from agent.channels.catalog import configured
from agent.channels.credentials import find_secret
from agent.channels.platform import PlatformContext, check_gateway
from agent.config import Secret
from agent.errors import ConfigRefused, UpdateRefused
from agent.gateway.settings import GatewaySettings
from agent.health.report import WritableState
from agent.link.base import BoardState
from agent.settings import Settings

if TYPE_CHECKING:
    from agent.app.build import Agent
    from agent.channels.mqtt.own_mirror import OwnState, UpdateState
    from agent.update.machine import Machine

_THERE = frozenset({BoardState.READY, BoardState.REFUSED})


def open_channels(settings: Settings, reach: PlatformContext) -> tuple[Channel, ...]:
    """The channels of every platform that is configured.

    Raises:
        ConfigRefused: a platform is configured and cannot be used so.
    """
    channels: list[Channel] = []
    for platform in configured(settings.channels):
        check_gateway(platform, settings.channels, reach.environ, settings.gateway)
        channels.append(platform.open(settings.channels, reach))
    return tuple(channels)


def secrets(settings: Settings, environ: Mapping[str, str]) -> Iterator[Secret]:
    """Every secret that a platform is told, for whoever keeps them out of texts."""
    for platform in configured(settings.channels):
        with contextlib.suppress(ConfigRefused):
            yield from platform.secrets(settings.channels, environ)
    if settings.gateway is not None:
        with contextlib.suppress(ConfigRefused):
            yield gateway_token(settings.gateway, environ)
    if (speech := settings.channels.speech) is not None:
        from agent.channels.speech.engines import speaker_key, speech_key  # noqa: PLC0415 - most agents have none

        with contextlib.suppress(ConfigRefused):
            yield speech_key(speech, environ)
        with contextlib.suppress(ConfigRefused):
            if speech.speaker is not None:
                yield speaker_key(speech.speaker, speech, environ)


def gateway_token(wanted: GatewaySettings, environ: Mapping[str, str]) -> Secret:
    """Return the token for the gateway's numbers; empty if none is configured."""
    return find_secret("gateway_token", wanted.token, wanted.token_file, environ)


class AgentState:
    """State of an agent, for channels that show it: they need not know what an agent is.

    Args:
        root: where the system has its files.
    """

    def __init__(self, agent: "Agent", root: Path = Path("/")) -> None:
        self._agent = agent
        self._root = root
        self._writable = WritableState(agent.paths.state_dir, agent.clock)
        self._changed = asyncio.Event()
        agent.stop.listen(self._changed.set, self._changed.set)
        for watcher in agent.watchers:
            watcher.listen(self._changed.set)

    async def look(self) -> "OwnState":
        from agent.channels.mqtt.own_mirror import OwnState  # noqa: PLC0415 - for those who show it

        self._changed.clear()
        agent = self._agent
        watches: dict[str, bool | None] = {}
        for watcher in agent.watchers:
            # One that is missing would be taken back wherever it is shown
            await watcher.until_known()
            watches |= watcher.raised()
        update = await asyncio.to_thread(self._update)
        return OwnState(agent.stop.reason, tuple(self._troubles()), watches, update)

    async def change(self, within_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._changed.wait()

    def _troubles(self) -> Iterator[str]:
        agent = self._agent
        heard = {**agent.activity.gaps, **agent.activity.troubles}
        yield from (f"{name}: {trouble}" for name, trouble in heard.items())
        # One that is not there is shown by its connection
        there = [board for board in agent.boards if board.status.state in _THERE]
        yield from (f"{one.name}: {one.status.trouble}" for one in there if one.status.trouble)
        yield from agent.machine_health.sentences()
        yield from filter(None, (self._writable.sentence(), agent.memory.sentence()))

    def _update(self) -> "UpdateState | None":
        if self._machine is None:
            return None
        from agent.channels.mqtt.own_mirror import UpdateState  # noqa: PLC0415 - as above
        from agent.update.records import UpdateRecords, sentence_of  # noqa: PLC0415 - as above

        records = UpdateRecords(self._machine.records)
        installed = self._machine.identity.version
        if (trial := records.trial()) is not None:
            return UpdateState(installed, trial.version, trial.reason, is_tried=True)
        outcome = records.outcome()
        if outcome is None:
            return UpdateState(installed)
        return UpdateState(installed, outcome.version, sentence_of(outcome))

    @cached_property
    def _machine(self) -> "Machine | None":
        from agent.update.machine import find_machine  # noqa: PLC0415 - as above

        try:
            return find_machine(self._root)
        except UpdateRefused:
            return None
