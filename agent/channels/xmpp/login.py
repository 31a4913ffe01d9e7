"""Who the agent is on XMPP, and where its server is."""

from dataclasses import dataclass
from ssl import SSLContext

from agent.config import Secret


@dataclass(frozen=True, slots=True)
class Login:
    """Who the agent is, and where.

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
