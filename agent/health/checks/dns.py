"""Are names found? Without that a network that works looks dead."""

import ipaddress
from urllib.parse import urlsplit

from agent.errors import ConfigRefused
from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.network import name_servers


async def check(patient: Patient) -> Finding:
    host = _host(patient)
    if not host:
        return Finding.ok("nothing that is configured is called by a name")
    trouble = await in_daemon_thread(lambda: _trouble(patient, host))
    if not trouble:
        return Finding.ok(f"{host} is found")
    asked = ", ".join(name_servers(patient.readings.kernel))
    hint = f"is {asked} right" if asked else "no name server is known; is the network up"
    return Finding.warning(
        f"{host} is not found ({trouble}): {hint}? `resolvectl status`, or /etc/resolv.conf, tells"
    )


def _host(patient: Patient) -> str:
    try:
        service = patient.find_service()
    except ConfigRefused:
        # Another check says so
        return ""
    host = urlsplit(service.url).hostname if service is not None else None
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return host or ""
    return ""


def _trouble(patient: Patient, host: str) -> str:
    try:
        patient.look_up(host)
    except OSError as err:
        return err.strerror or str(err)
    except UnicodeError:
        return "not a host name"
    return ""
