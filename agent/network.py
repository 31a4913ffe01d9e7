"""Names and addresses of this machine itself, over which nobody reads along."""

import ipaddress


def is_this_machine(host: str) -> bool:
    """Whether a host of a URL is the machine that asks, by its address or the one name for it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
