"""Login on XMPP, and the server's address."""

from ssl import SSLContext

from msgspec import Struct

from agent.config import Secret


class XmppLogin(Struct, frozen=True):
    """Login of the agent, with its server.

    Args:
        address: without a resource.
        host: empty where the name's own records are asked.
        is_direct: TLS from the first byte; otherwise a plain connection is made into one.
    """

    address: str
    password: Secret
    context: SSLContext
    host: str = ""
    port: int = 0
    is_direct: bool = False
