"""Settings of what listens for HTTP: the gateway and the console."""

from typing import Annotated, Literal

from msgspec import Meta

from agent.config import ConfigSection, Secret

HostName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.:\[\]_-]{1,253}\Z", description="a host")]
IpAddress = Annotated[
    str, Meta(pattern=r"^(unix|[0-9a-fA-F.:]{2,45})\Z", description="an IP address, or unix")
]

ListenAddress = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-fA-F.:\[\]]{2,45}:[0-9]{1,5}\Z",
        description="an address with a port, such as 0.0.0.0:8476",
    ),
]


class GatewaySettings(ConfigSection, frozen=True, kw_only=True):
    """The `[gateway]` section; without it nothing listens."""

    # An address with a port, or "unix", or the path of a socket
    listen: Annotated[str, Meta(min_length=4, max_length=100)] = "127.0.0.1:8475"
    # Addresses that others can reach and that it may listen at all the same
    public: tuple[IpAddress, ...] = ()
    # By what names it is called, where that is not the address itself
    hosts: tuple[HostName, ...] = ()
    # Reverse proxies whose word on who comes is taken
    trusted_proxies: tuple[IpAddress, ...] = ()
    # 32 random bytes or more; in a file of its own, which is better
    token: Secret = Secret()
    token_file: str = ""
    # Protocols by which other assistants may use this agent, each with a token of a paired person
    assistants: tuple[Literal["openai", "mcp"], ...] = ()


class WyomingSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[wyoming]` section; without it no voice assistant is listened to."""

    # An address with a port
    listen: ListenAddress = "127.0.0.1:10700"
    # Addresses that may connect, such as Home Assistant's; needed where others can reach it
    clients: tuple[IpAddress, ...] = ()


class ConsoleSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[console]` section; without it only a card of ours serves browsers."""

    # Whether browsers are served at all
    enabled: bool = True
    # An address with a port, for a console that systemd does not start; others in the house reach
    # it at the machine's own address
    listen: ListenAddress = "127.0.0.1:8476"
    # By what names it is called, besides numbers, localhost and the machine's own name
    hosts: tuple[HostName, ...] = ()
