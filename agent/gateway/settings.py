"""Settings of what others come by: the gateway, voice, the console, other devices."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.config import LISTEN_PORT, PORT, PORT_LIMIT, ConfigSection, Secret

HostName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9.:\[\]_-]{1,253}\Z", description="a host")]
IpAddress = Annotated[
    str, Meta(pattern=r"^(unix|[0-9a-fA-F.:]{2,45})\Z", description="an IP address, or unix")
]

ListenAddress = Annotated[
    str,
    Meta(
        pattern=rf"^[0-9a-fA-F.:\[\]]{{2,45}}:{LISTEN_PORT}\Z",
        description=f"an address {PORT_LIMIT}, such as 0.0.0.0:8476",
    ),
]


# What cannot be listened at ends the start: it is said when the file is read
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
GatewayPlace = Annotated[
    str,
    Meta(
        min_length=4,
        max_length=100,
        pattern=rf"^(unix|/.*|({_OCTET}(\.{_OCTET}){{3}}|\[[0-9a-fA-F:.]{{2,45}}\]):{LISTEN_PORT})\Z",
        description="an address and a port such as 127.0.0.1:8475, unix, or the path of a socket",
    ),
]


def _check_hosts(hosts: tuple[str, ...]) -> None:
    if hosts:
        from agent.gateway.hosts import check  # noqa: PLC0415 - few have any

        check(hosts)


class GatewaySettings(ConfigSection, frozen=True, kw_only=True):
    """The `[gateway]` section; without it nothing listens."""

    # An address with a port, or "unix", or the path of a socket
    listen: GatewayPlace = "127.0.0.1:8475"
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
    # Names of callers by MCP whose own program puts the owner's questions to the owner first
    elicit: tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...] = ()

    def __post_init__(self) -> None:
        _check_hosts(self.hosts)
        if self.elicit and "mcp" not in self.assistants:
            raise ValueError('elicit is for callers by MCP: add "mcp" to assistants')


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
    # A certificate with its chain, and its key, as files that the console's own user reads; both
    # or none
    certificate: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        _check_hosts(self.hosts)
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key belong together: set both, or neither")


DeviceName = Annotated[
    str,
    Meta(pattern=r"^[a-z][a-z0-9]{0,23}\Z", description="small letters and digits"),
]
LentPin = Annotated[
    str,
    Meta(
        pattern=r"^([a-z][a-z0-9_]{0,31}:)?[a-z][a-z0-9_]{0,31}\Z",
        description="a pin such as pump, or bench:pump of the board bench",
    ),
]
DeviceAddress = Annotated[
    str,
    Meta(
        pattern=rf"^(\[[0-9a-fA-F:]{{2,45}}\]|[A-Za-z0-9._-]{{1,253}}):{PORT}\Z|^\Z",
        description=f"a host {PORT_LIMIT}, such as 192.168.1.7:8478",
    ),
]


class OtherDeviceSettings(ConfigSection, frozen=True, kw_only=True):
    """A `[devices.others.<name>]` table: another device of the same owner."""

    # 32 random bytes or more, the same on both devices; in a file of its own, which is better
    key: Secret = Secret()
    key_file: str = ""
    # Outputs that it may have set, as far as the owner agrees
    lend: tuple[LentPin, ...] = ()
    # Whether it may look at inputs and recorded readings
    readings: bool = True
    # Where it listens; without it messages go by the broker of [channels.mqtt]
    address: DeviceAddress = ""
    # Names of its pins that count as the owner's words here
    pins: tuple[LentPin, ...] = ()


class DevicesSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[devices]` section; without it the agent knows of no other device."""

    # By which the others know this one
    name: DeviceName = "barnacle"
    # An address with a port for those who come without a broker; empty where nobody does
    listen: Annotated[
        str,
        Meta(
            pattern=rf"^([0-9a-fA-F.:\[\]]{{2,45}}:{LISTEN_PORT})?\Z",
            description=f"an address {PORT_LIMIT}, such as 0.0.0.0:8478",
        ),
    ] = ""
    # Of the messages at the broker
    topic: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+){0,5}\Z",
            description="levels of letters, digits, - and _, such as home/devices",
        ),
    ] = "barnacle-devices"
    others: dict[DeviceName, OtherDeviceSettings] = msgspec.field(default_factory=dict)
