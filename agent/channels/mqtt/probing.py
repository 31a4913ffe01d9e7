"""Whether the broker lets us in, found out by going in once; nothing is received or said."""

from dataclasses import replace

from agent.channels.mqtt.connection import Broker, connected

# Not the device's own name at the broker: that would throw the device out
_CLIENT_ID = "barnacle-probe"


async def probe(broker: Broker) -> str:
    """A sentence that says who we are there.

    Raises:
        ChannelError: it does not let us in, or is not there.
    """
    # Nobody is told that the device is gone when this is
    async with connected(replace(broker, will=""), _CLIENT_ID, lambda: None):
        who = f"user {broker.user}" if broker.user else "nobody in particular"
        secured = "with TLS" if broker.context else "without TLS"
        return f"{broker.name} lets us in as {who}, {secured}"
