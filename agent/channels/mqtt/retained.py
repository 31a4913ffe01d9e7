"""Retained messages of a mirror: what is new is published, what is gone is taken back."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.described_topics import DescribedTopics
from agent.channels.mqtt.home_assistant import CONFIG
from agent.errors import MessageRefused

_log = logging.getLogger(__name__)

# Stands for the description of an earlier start
EARLIER = b""


async def keep(
    connection: MqttConnection,
    look: Callable[[], Awaitable[Mapping[str, bytes]]],
    change: Callable[[], Awaitable[None]],
    described: DescribedTopics,
    *,
    repeats: bool,
) -> None:
    """Keep the broker up to date until the connection is gone.

    Args:
        look: returns the messages as they are now.
        change: returns when it is time for another look.
        described: what this mirror has described before.
        repeats: values that stay are said at each look, and so do not expire at Home Assistant.

    Raises:
        ChannelError: it is gone.
    """
    shown = await earlier(described)
    while True:
        now = await look()
        await described.add(now)
        shown = await renew(connection, now, shown, repeats=repeats)
        await described.keep_only(shown)
        await change()


async def earlier(described: DescribedTopics) -> Mapping[str, bytes]:
    """Return what the broker has of earlier starts: only that it is there is known."""
    return dict.fromkeys(await described.every(), EARLIER)


async def take_back(connection: MqttConnection, described: DescribedTopics) -> None:
    """Remove what was described by a mirror that is wanted no more.

    Raises:
        ChannelError: the connection is gone.
    """
    left = await renew(connection, {}, await earlier(described), repeats=False)
    await described.keep_only(left)


async def renew(
    connection: MqttConnection,
    now: Mapping[str, bytes],
    shown: Mapping[str, bytes],
    *,
    repeats: bool,
) -> Mapping[str, bytes]:
    """Publish the messages, and return those that are shown: one that was refused comes again.

    Descriptions that were shown are not said again. Whatever was described and is gone is removed
    by an empty message; its values stay, marked as unavailable.

    Raises:
        ChannelError: the connection is gone.
    """
    news = {
        topic: payload
        for topic, payload in now.items()
        if shown.get(topic) != payload or (repeats and not topic.endswith(CONFIG))
    }
    gone = [topic for topic in shown if topic.endswith(CONFIG) and topic not in now]
    refused = await publish(connection, {**news, **dict.fromkeys(gone, b"")})
    # A description that is not taken back is still there
    kept = {topic: shown[topic] for topic in gone if topic in refused}
    return {topic: payload for topic, payload in now.items() if topic not in refused} | kept


async def publish(connection: MqttConnection, messages: Mapping[str, bytes]) -> set[str]:
    """Publish retained messages; return the topics of those that are refused.

    Raises:
        ChannelError: the connection is gone.
    """
    refused: dict[str, str] = {}
    for topic, payload in messages.items():
        try:
            await connection.publish(topic, payload, retain=True)
        except MessageRefused as err:
            refused[topic] = str(err)
    if refused:
        # A broker that refuses one often refuses all of a kind
        topic, why = next(iter(refused.items()))
        _log.warning("mqtt: not shown (topic=%s, more=%d, reason=%s)", topic, len(refused) - 1, why)
    return set(refused)
