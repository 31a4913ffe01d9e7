"""Has this machine an address, a way out, and a Wi-Fi that is heard well?"""

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.machine.network import Network
from agent.machine.wireless import FAINT_DBM, Wireless

_WITHOUT = "hardware, schedules and memory work all the same"


async def check(patient: Patient) -> Finding:
    network = await in_daemon_thread(patient.readings.network)
    if not network.is_up:
        return Finding.warning(f"{_trouble(network)}; {_WITHOUT}")
    told = f"{network.addresses[0]} by {network.routers[0]}"
    heard = await in_daemon_thread(patient.readings.wireless)
    if faint := next((one for one in heard if _is_faint(one)), None):
        return Finding.warning(
            f"{told}; {faint.interface} hears its access point at {faint.signal_dbm} dBm only: "
            "move them closer to each other, or use a cable"
        )
    signal = "".join(f", {one.interface} at {_quality(one)}" for one in heard)
    return Finding.ok(f"{told}{signal}")


def _trouble(network: Network) -> str:
    if not network.linked and network.unlinked:
        names = ", ".join(network.unlinked)
        return f"no network is connected ({names}): plug in a cable or set up the Wi-Fi"
    if not network.linked:
        return "this machine has no network"
    if not network.addresses:
        names = ", ".join(network.linked)
        return f"{names} has no address: is there a router that gives one (DHCP)?"
    return f"there is no way out of the local network from {network.addresses[0]}: see the router"


def _is_faint(one: Wireless) -> bool:
    return one.signal_dbm is not None and one.signal_dbm <= FAINT_DBM


def _quality(one: Wireless) -> str:
    return f"{one.quality_percent} %" if one.signal_dbm is None else f"{one.signal_dbm} dBm"
