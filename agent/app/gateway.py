"""The gateway of an agent, composed: what it shows, and the channels that are pushed to.

Loaded only where a gateway is configured.
"""

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from agent.access.pairing_codes import Codes
from agent.access.people import PeopleStore
from agent.app.build import Agent
from agent.app.channels import gateway_token
from agent.channels.base import Channel
from agent.channels.push import PushReceiver
from agent.gateway.application import StatusSources
from agent.gateway.gateway import Gateway, GatewayParts
from agent.gateway.metrics import MetricSample
from agent.gateway.route import GatewayRoute
from agent.gateway.settings import GatewaySettings
from agent.gateway.tokens import NAME, GatewayTokens
from agent.link.base import Board, BoardState
from agent.messaging.channel_supervisor import Supervisor
from agent.security.access import Circle
from agent.system.clock import SystemClock

if TYPE_CHECKING:
    from agent.gateway.assistants.channel import AssistantChannel


class _Rows(Struct, frozen=True):
    """Counts of the journal."""

    messages: Sequence[tuple[str, str, int]]
    answers: Sequence[tuple[str, str, int]]
    turns: int


def open_gateway(
    wanted: GatewaySettings,
    agent: Agent,
    channels: Sequence[Channel],
    supervisors: Sequence[Supervisor],
    environ: Mapping[str, str],
) -> Gateway:
    """A gateway that listens already.

    Args:
        supervisors: of the channels; they may be added later.

    Raises:
        ConfigRefused: it may not listen so, or cannot.
    """
    token = gateway_token(wanted, environ).reveal()
    access = agent.access
    pushed = [channel for channel in channels if isinstance(channel, PushReceiver)]
    shown = StatusSources(partial(_troubles, agent, supervisors), partial(_samples, agent))
    tokens = GatewayTokens(token, access.people, access.codes, agent.clock, access.tell)
    routes = _lent(agent, channels)
    house = GatewayParts(agent.paths.state_dir, agent.paths.gateway_db, shown, pushed, routes)
    return Gateway(wanted, token, tokens, house, agent.clock)


def _lent(agent: Agent, channels: Sequence[Channel]) -> tuple[GatewayRoute, ...]:
    """Return the routes by which other assistants come."""
    relayed = [one for one in channels if one.abilities.is_relayed and one.name == NAME]
    if not relayed:
        return ()
    from agent.app.assistants import routes  # noqa: PLC0415 - where it is wanted

    return routes(agent, cast("AssistantChannel", relayed[0]))


def recording_gateway(
    wanted: GatewaySettings, state_dir: Path, environ: Mapping[str, str]
) -> Callable[[PushReceiver, Path], Awaitable[None]]:
    """Return what opens the gateway for one platform that is recorded, and for nobody else."""

    async def serve(pushed: PushReceiver, folder: Path) -> None:
        clock, token = SystemClock(), gateway_token(wanted, environ).reveal()
        people = PeopleStore(folder / "people.json", clock)
        tokens = GatewayTokens(token, people, Codes(folder / "codes.json", clock), clock)
        shown = StatusSources(dict, _no_samples)
        house = GatewayParts(state_dir, folder / "gateway.db", shown, [pushed])
        await Gateway(wanted, token, tokens, house, clock).run()

    return serve


async def _no_samples() -> Iterable[MetricSample]:
    return ()


def _troubles(agent: Agent, supervisors: Iterable[Supervisor]) -> dict[str, str]:
    deaf = {one.channel.name: "nothing is heard" for one in supervisors if not one.is_healthy()}
    return {**deaf, **agent.activity.troubles}


async def _samples(agent: Agent) -> Iterable[MetricSample]:
    rows = await agent.journal.look(_counted)
    return [
        *_of_messages(rows),
        *_of_work(agent, rows),
        *_of_boards(agent.boards),
        *_of_readings(agent),
    ]


def _counted(db: sqlite3.Connection) -> _Rows:
    by_state = "SELECT channel, state, count(*) FROM {} GROUP BY channel, state"
    return _Rows(
        db.execute(by_state.format("inbox")).fetchall(),
        db.execute(by_state.format("outbox")).fetchall(),
        db.execute(
            "SELECT (SELECT coalesce(sum(attempts), 0) FROM inbox)"
            " + (SELECT coalesce(sum(turns), 0) FROM trimmed)"
        ).fetchone()[0],
    )


def _of_messages(rows: _Rows) -> Iterator[MetricSample]:
    for channel, state, count in rows.messages:
        labels = {"channel": channel, "state": state}
        yield MetricSample("messages", "Messages from people, by state.", count, labels)
    for channel, state, count in rows.answers:
        labels = {"channel": channel, "state": state}
        yield MetricSample("answers", "Messages to people, by state.", count, labels)


def _of_work(agent: Agent, rows: _Rows) -> Iterator[MetricSample]:
    activity = agent.activity
    yield MetricSample("turns_total", "Turns that have begun.", rows.turns, kind="counter")
    yield MetricSample("turns_at_work", "Turns that are running now.", activity.turns)
    yield MetricSample("questions_open", "Questions that wait for a person.", activity.questions)
    yield MetricSample(
        "channels_in_trouble", "Channels that receive or send nothing.", len(activity.deaf)
    )
    for verdict, count in sorted(activity.verdicts.items()):
        about = "Decisions on tool calls since the start."
        yield MetricSample("tool_calls_total", about, count, {"verdict": verdict}, "counter")
    yield MetricSample("stopped", "1 while the emergency stop is on.", int(agent.stop.is_set))


def _of_readings(agent: Agent) -> Iterator[MetricSample]:
    record = agent.peripherals.record
    # Whoever reaches the page sees them
    if record is None or agent.settings.workspace.shares.readings is not Circle.EVERYBODY:
        return
    about = "The newest value of each recorded reading; 1 is on."
    for series, value in record.store.latest().items():
        labels = {"name": series.name, "unit": series.kind.unit}
        yield MetricSample("reading", about, value, labels)


def _of_boards(boards: Iterable[Board]) -> Iterator[MetricSample]:
    for board in boards:
        labels = {"board": board.name}
        for state in BoardState:
            is_so = int(board.status.state is state)
            told = {**labels, "state": state.value}
            yield MetricSample("board_state", "1 for the present state of the board.", is_so, told)
        for name, value in board.counters.as_numbers().items():
            if value is not None:
                about = f"The link's {name.replace('_', ' ')} in this session."
                yield MetricSample(f"link_{name}", about, value, labels)
