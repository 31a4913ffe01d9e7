"""Are names found? Without that a network that works looks dead."""

import asyncio
import ipaddress
from urllib.parse import urlsplit

from agent.errors import ConfigRefused
from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.network import name_servers


async def check(patient: Patient) -> Finding:
    hosts = [host for host in dict.fromkeys((*_service(patient), *patient.hosts)) if _is_name(host)]
    if not hosts:
        return Finding.ok("nothing that is configured is called by a name")
    troubles = await asyncio.gather(*(_looked_up(patient, host) for host in hosts))
    missing = [f"{host} ({why})" for host, why in zip(hosts, troubles, strict=True) if why]
    if not missing:
        return Finding.ok(f"{', '.join(hosts)} {'is' if len(hosts) == 1 else 'are'} found")
    asked = ", ".join(name_servers(patient.readings.kernel))
    hint = f"is {asked} right" if asked else "no name server is known; is the network up"
    return Finding.warning(
        f"not found: {', '.join(missing)}; {hint}? `resolvectl status`, or /etc/resolv.conf, tells"
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
