"""Retained messages of a mirror: what is new is published, what is gone is taken back."""

import logging
from collections.abc import Mapping

from agent.channels.mqtt.client import MqttConnection
from agent.channels.mqtt.home_assistant import CONFIG
from agent.errors import MessageRefused

_log = logging.getLogger(__name__)


async def renew(
    connection: MqttConnection, now: Mapping[str, bytes], shown: Mapping[str, bytes]
) -> None:
    """Publish the messages; of those that were shown, descriptions are not said again.

    Values are, since Home Assistant lets them expire. Whatever was described and is gone is removed
    by an empty message; its values stay, marked as unavailable.

    Raises:
        ChannelError: the connection is gone.
    """
    news = {
        topic: payload
        for topic, payload in now.items()
        if shown.get(topic) != payload or not topic.endswith(CONFIG)
    }
    gone = [topic for topic in shown if topic.endswith(CONFIG) and topic not in now]
    await publish(connection, {**news, **dict.fromkeys(gone, b"")})


async def publish(connection: MqttConnection, messages: Mapping[str, bytes]) -> None:
    """Publish retained messages, up to one that is refused.

    Raises:
        ChannelError: the connection is gone.
    """
    for topic, payload in messages.items():
        try:
            await connection.publish(topic, payload, retain=True)
        except MessageRefused as err:
            _log.warning("mqtt: not shown (topic=%s, reason=%s)", topic, err)
            return
