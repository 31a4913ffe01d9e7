"""Checks of the model service: address, key and spending limits."""

import asyncio
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from agent.errors import KeyRefused, ProviderError, QuotaExhausted
from agent.health.base import Finding, Patient, Probe
from agent.health.daemon_thread import in_daemon_thread


async def check_spending(patient: Patient) -> Finding:
    spent, reached = await in_daemon_thread(patient.find_spending)
    if reached:
        return Finding.warning(
            f"{reached}: paid services are not used until midnight; raise the limit to use them"
        )
    return Finding.ok(f"{spent} today")


# A service that is reachable accepts within a fraction of it
_CONNECT_TIMEOUT_S = 3.0
# A list of models comes within a second; less than what a check is given
_TRY_TIMEOUT_S = 8.0
_PORTS = {"http": 80, "https": 443}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


async def check_provider(patient: Patient) -> Finding:
    """A refused key is raised and is the doctor's to report."""
    service = patient.find_service()
    if service is None:
        return Finding.ok(
            "offline: uses the board and the built-in tools without a model service; to "
            "use one, set OPENAI_API_KEY or [provider] in the configuration"
        )
    key = f"key from {service.key_source}" if service.key_source else "no key"
    address = urlsplit(service.url)
    host = address.hostname or ""
    port = address.port or _PORTS[address.scheme]
    if patient.try_key is not None and service.key_source:
        return await _tried(patient.try_key, host, key)
    if _goes_through_proxy(host, patient.environ):
        return Finding.ok(f"{host} with {key}, through a proxy; not tested")
    trouble = await in_daemon_thread(lambda: _trouble(host, port))
    if trouble:
        return Finding.warning(
            f"cannot reach {host}:{port} ({trouble}): until then the agent answers "
            "without a model; is the network up, and is provider.base_url correct?"
        )
    return Finding.ok(f"{host}:{port} answers, {key}")


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


def _trouble(host: str, port: int) -> str:
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
