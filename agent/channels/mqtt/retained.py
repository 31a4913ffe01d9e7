"""Retained messages of a mirror: what is new is published, what is gone is taken back."""

import logging
from collections.abc import Awaitable, Callable, Mapping

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.home_assistant import CONFIG
from agent.errors import MessageRefused

_log = logging.getLogger(__name__)


async def keep(
    connection: MqttConnection,
    look: Callable[[], Awaitable[Mapping[str, bytes]]],
    change: Callable[[], Awaitable[None]],
    *,
    repeats: bool,
) -> None:
    """Keep the broker up to date until the connection is gone.

    Args:
        look: returns the messages as they are now.
        change: returns when it is time for another look.
        repeats: values that stay are said at each look, and so do not expire at Home Assistant.

    Raises:
        ChannelError: it is gone.
    """
    shown: Mapping[str, bytes] = {}
    while True:
        shown = await renew(connection, await look(), shown, repeats=repeats)
        await change()


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
