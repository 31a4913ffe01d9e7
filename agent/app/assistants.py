"""Composition of the protocols by which other assistants use the agent."""

from functools import partial
from typing import TYPE_CHECKING

from agent.app.build import Agent
from agent.gateway.assistants.channel import AssistantChannel
from agent.gateway.assistants.desk import AssistantDesk
from agent.gateway.settings import WyomingSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.gateway.route import GatewayRoute
    from agent.text.echo import OwnSpeech


def routes(agent: Agent, channel: AssistantChannel) -> "tuple[GatewayRoute, ...]":
    """Return the routes of the protocols that the owner has chosen."""
    return tuple(_routes(agent, channel, _desk(agent, channel)))


def open_wyoming(
    agent: Agent, wanted: WyomingSettings, own: "OwnSpeech | None" = None
) -> AssistantChannel:
    """Return the channel of voice assistants.

    Args:
        own: what the agent says in rooms, where it shares that.

    Raises:
        ConfigRefused: it may not listen so.
    """
    from agent.gateway.assistants.wyoming.channel import WyomingChannel  # noqa: PLC0415 - as above
    from agent.gateway.assistants.wyoming.clients import place_of  # noqa: PLC0415 - as above
    from agent.text.echo import OwnSpeech  # noqa: PLC0415 - where it is wanted

    return WyomingChannel(place_of(wanted), partial(_desk, agent), own or OwnSpeech())


def _desk(agent: Agent, channel: AssistantChannel) -> AssistantDesk:
    person = partial(agent.access.people.find, channel.name)
    return AssistantDesk(channel, agent.journal, agent.clock, agent.settings.agent.name, person)


def _routes(
    agent: Agent, channel: AssistantChannel, desk: AssistantDesk
) -> "Iterator[GatewayRoute]":
    wanted = agent.settings.gateway.assistants if agent.settings.gateway else ()
    if "openai" in wanted:
        from agent.gateway.assistants.endpoint import endpoints  # noqa: PLC0415 - where it is wanted

        yield from endpoints(desk)
    if "mcp" in wanted:
        from agent.gateway.assistants.mcp.content import MadeFiles  # noqa: PLC0415 - as above
        from agent.gateway.assistants.mcp.elicitation import Elicitations  # noqa: PLC0415 - as above
        from agent.gateway.assistants.mcp.endpoint import McpEndpoint  # noqa: PLC0415 - as above
        from agent.gateway.assistants.mcp.hand import LentHand  # noqa: PLC0415 - as above
        from agent.gateway.assistants.mcp.methods import McpMethods  # noqa: PLC0415 - as above
        from agent.gateway.assistants.mcp.offer import OF_DEVICE  # noqa: PLC0415 - as above

        made = MadeFiles(agent.paths.workspace, agent.redactor.redact)
        hand = LentHand(channel, agent.clock, made=made)
        named = agent.settings.gateway.elicit if agent.settings.gateway else ()
        elicitations = Elicitations(named, agent.clock, agent.access.tell)
        methods = McpMethods(agent.registry, hand, desk, elicitations, OF_DEVICE)
        yield McpEndpoint(methods, elicitations)
