"""May the gateway listen where it is told to, and are its libraries there?"""

from importlib.util import find_spec

from agent.errors import ConfigRefused
from agent.health.base import Finding, Patient
from agent.wording import how_to_install

_LIBRARIES = ("starlette", "uvicorn")


async def check(patient: Patient) -> Finding:
    """Nobody has to have it: without [gateway] nothing listens."""
    if patient.probe_gateway is None:
        return Finding.ok("not configured: [gateway] opens HTTP for platforms that push")
    if missing := [name for name in _LIBRARIES if find_spec(name) is None]:
        return Finding.failed(f"{' and '.join(missing)} not installed: {how_to_install('gateway')}")
    try:
        return Finding.ok(patient.probe_gateway())
    except ConfigRefused as err:
        return Finding.failed(str(err))
