"""Checks of the network: address, route, Wi-Fi signal and host names."""

import asyncio
import ipaddress
from urllib.parse import urlsplit

from agent.errors import ConfigRefused
from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.network import Network, name_servers
from agent.machine.wireless import FAINT_DBM, Wireless


async def check_dns(patient: Patient) -> Finding:
    hosts = [host for host in dict.fromkeys((*_service(patient), *patient.hosts)) if _is_name(host)]
    if not hosts:
        return Finding.ok("no host names in the configuration")
    troubles = await asyncio.gather(*(_looked_up(patient, host) for host in hosts))
    missing = [f"{host} ({why})" for host, why in zip(hosts, troubles, strict=True) if why]
    if not missing:
        return Finding.ok(f"found {', '.join(hosts)}")
    asked = ", ".join(name_servers(patient.readings.kernel))
    hint = f"is {asked} correct" if asked else "no name server known; is the network up"
    return Finding.warning(
        f"host names not found: {', '.join(missing)}; {hint}? See `resolvectl status` "
        "or /etc/resolv.conf"
    )


def _service(patient: Patient) -> tuple[str, ...]:
    try:
        service = patient.find_service()
    except ConfigRefused:
        # Another check says so
        return ()
    return () if service is None else (urlsplit(service.url).hostname or "",)


def _is_name(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return bool(host)
    return False


async def _looked_up(patient: Patient, host: str) -> str:
    """Return why the name is not found; empty if it is."""
    try:
        await in_daemon_thread(lambda: patient.look_up(host))
    except OSError as err:
        return err.strerror or str(err)
    except UnicodeError:
        return "not a host name"
    return ""


_WITHOUT = "hardware, schedules and memory keep working"


async def check_network(patient: Patient) -> Finding:
    network = await in_daemon_thread(patient.readings.network)
    if not network.is_up:
        return Finding.warning(f"{_trouble(network)}; {_WITHOUT}")
    told = f"{network.addresses[0]} via {network.routers[0]}"
    heard = await in_daemon_thread(patient.readings.wireless)
    if faint := next((one for one in heard if _is_faint(one)), None):
        return Finding.warning(
            f"{told}; weak Wi-Fi signal on {faint.interface} ({faint.signal_dbm} dBm): "
            "move the device or the access point, or use a cable"
        )
    signal = "".join(f", {one.interface} at {_quality(one)}" for one in heard)
    return Finding.ok(f"{told}{signal}")


def _trouble(network: Network) -> str:
    if not network.linked and network.unlinked:
        names = ", ".join(network.unlinked)
        return f"no network connected ({names}): plug in a cable or set up the Wi-Fi"
    if not network.linked:
        return "no network interface found"
    if not network.addresses:
        names = ", ".join(network.linked)
        return f"{names} has no address: is there a router with DHCP?"
    return f"no route out of the local network from {network.addresses[0]}: check the router"


def _is_faint(one: Wireless) -> bool:
    return one.signal_dbm is not None and one.signal_dbm <= FAINT_DBM


def _quality(one: Wireless) -> str:
    return f"{one.quality_percent} %" if one.signal_dbm is None else f"{one.signal_dbm} dBm"
