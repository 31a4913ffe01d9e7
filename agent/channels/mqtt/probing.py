"""Probe of the broker: connects once; nothing is received or said."""

from dataclasses import replace

from agent.channels.mqtt.connection import Broker, connected

# Not the device's own name at the broker: that would throw the device out
_CLIENT_ID = "barnacle-probe"
_HERE = frozenset({"127.0.0.1", "::1", "localhost"})


async def probe(broker: Broker) -> str:
    """A sentence that says who we are there.

    Raises:
        ChannelError: it does not let us in, or is not there.
    """
    # Nobody is told that the device is gone when this is
    async with connected(replace(broker, will=""), _CLIENT_ID, lambda: None):
        who = f"user {broker.user}" if broker.user else "nobody in particular"
        return f"{broker.name} lets us in as {who}, {secured(broker)}"


def secured(broker: Broker) -> str:
    """Return the protection of the connection, in words."""
    if broker.context is not None:
        return "with TLS"
    is_here = broker.host in _HERE or not broker.password
    return "without TLS" if is_here else "without TLS, so that the network can read the password"
