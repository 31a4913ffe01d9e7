"""Composition of the protocols by which other assistants use the agent."""

from collections.abc import Iterator

from agent.app.build import Agent
from agent.gateway.assistants.channel import AssistantChannel
from agent.gateway.assistants.desk import AssistantDesk
from agent.gateway.route import GatewayRoute
from agent.gateway.tokens import GatewayTokens


def routes(
    agent: Agent, channel: AssistantChannel, tokens: GatewayTokens
) -> tuple[GatewayRoute, ...]:
    """Return the routes of the protocols that the owner has chosen."""
    desk = AssistantDesk(
        channel, agent.journal, agent.clock, agent.settings.agent.name, tokens.has_account
    )
    return tuple(_routes(agent, channel, desk))


def _routes(agent: Agent, channel: AssistantChannel, desk: AssistantDesk) -> Iterator[GatewayRoute]:
    wanted = agent.settings.gateway.assistants if agent.settings.gateway else ()
    if "openai" in wanted:
        from agent.gateway.assistants.endpoint import endpoints  # noqa: PLC0415 - where it is wanted

        yield from endpoints(desk)
    if "mcp" in wanted:
        from agent.gateway.assistants.mcp.endpoint import McpEndpoint  # noqa: PLC0415 - as above
        from agent.gateway.assistants.mcp.hand import LentHand  # noqa: PLC0415 - as above
        from agent.gateway.assistants.mcp.methods import McpMethods  # noqa: PLC0415 - as above

        yield McpEndpoint(McpMethods(agent.registry, LentHand(channel, agent.clock), desk))
