"""Checks of the network and of the model service: Wi-Fi, names, address, key, spending."""

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from agent.errors import ConfigRefused, KeyRefused, ProviderError, QuotaExhausted
from agent.health.base import Finding, ModelService, Patient, Probe
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.network import Network, name_servers
from agent.machine.wireless import FAINT_DBM, Wireless, is_password_refused

_WITHOUT = "hardware, schedules and memory keep working"
_REFUSED = (
    "the access point refuses the Wi-Fi password: correct [wifi] in barnacle.toml on the card's "
    "first partition and restart, or move closer if it is correct"
)
# A service that is reachable accepts within a fraction of it
_CONNECT_TIMEOUT_S = 3.0
# A list of models comes within a second; less than what a check is given
_TRY_TIMEOUT_S = 8.0
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


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


async def check_network(patient: Patient) -> Finding:
    network = await in_daemon_thread(patient.readings.network)
    is_refused = await in_daemon_thread(lambda: is_password_refused(patient.readings.kernel))
    if not network.is_up:
        trouble = _REFUSED if is_refused else _trouble(network)
        return Finding.warning(f"{trouble}; {_WITHOUT}")
    told = f"{network.addresses[0]} via {network.routers[0]}"
    if is_refused:
        return Finding.warning(f"{told}; {_REFUSED}")
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


async def check_spending(patient: Patient) -> Finding:
    spent, reached = await in_daemon_thread(patient.find_spending)
    if reached:
        return Finding.warning(
            f"{reached}: paid services are not used until midnight; raise the limit to use them"
        )
    return Finding.ok(f"{spent} today")


async def check_provider(patient: Patient) -> Finding:
    """A refused key is raised and is the doctor's to report."""
    service = patient.find_service()
    if service is None:
        return Finding.ok(
            "offline: uses the board and the built-in tools without a model service; to "
            "use one, set OPENAI_API_KEY or [provider] in the configuration"
        )
    if service.program:
        return await _program_finding(service)
    key = f"key from {service.key_source}" if service.key_source else "no key"
    address = urlsplit(service.url)
    host = address.hostname or ""
    port = address.port or _PORTS[address.scheme]
    if patient.try_key is not None and service.key_source:
        return await _tried(patient.try_key, host, key)
    if _goes_through_proxy(host, patient.environ):
        return Finding.ok(f"{host} with {key}, through a proxy; not tested")
    trouble = await in_daemon_thread(lambda: _refusal(host, port))
    if trouble:
        return Finding.warning(
            f"cannot reach {host}:{port} ({trouble}): until then the agent answers "
            "without a model; is the network up, and is provider.base_url correct?"
        )
    return Finding.ok(f"{host}:{port} answers, {key}")


async def _program_finding(service: ModelService) -> Finding:
    if trouble := await in_daemon_thread(service.find_trouble):
        return Finding.failed(
            f"{service.program} cannot answer: {trouble}; until then the agent answers without a "
            "model"
        )
    key = f"key from {service.key_source}" if service.key_source else "its own sign-in, not tested"
    return Finding.ok(f"{service.program} can run isolated, {key}; `barnacle models check` asks it")


async def _tried(try_key: Probe, host: str, key: str) -> Finding:
    """By a list of models, which costs nothing."""
    try:
        async with asyncio.timeout(_TRY_TIMEOUT_S):
            return Finding.ok(f"{host} accepts the {key}{await try_key()}")
    except TimeoutError:
        return Finding.warning(f"{host} does not answer a request with the {key}: try again later")
    except KeyRefused as err:
        return Finding.failed(f"{host} rejects the {key} ({err}): create a new one there")
    except QuotaExhausted as err:
        return Finding.failed(
            f"the account of the {key} at {host} has no credit ({err}): top it up"
        )
    except ProviderError as err:
        return Finding.warning(
            f"{host} answers a request with the {key} with an error: {err}; until then "
            "the agent answers without a model; is provider.base_url correct?"
        )


def _refusal(host: str, port: int) -> str:
    try:
        with socket.create_connection((host, port), _CONNECT_TIMEOUT_S):
            return ""
    except OSError as err:
        return err.strerror or str(err) or type(err).__name__
    except UnicodeError:
        return "not a host name"


def _goes_through_proxy(host: str, environ: Mapping[str, str]) -> bool:
    names = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
    chosen = any(environ.get(name) or environ.get(name.lower()) for name in names)
    return chosen and host not in _LOOPBACK
