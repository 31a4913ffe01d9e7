"""Login on XMPP, and the server's address."""

from dataclasses import dataclass
from ssl import SSLContext

from agent.config import Secret


@dataclass(frozen=True, slots=True)
class XmppLogin:
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
