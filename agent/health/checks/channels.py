"""Does the running agent hear its platforms? By the age of what it heard, not by what it claims."""

from agent.errors import ChannelUnavailable
from agent.health.base import Finding, Patient
from agent.health.status import read_status

# Three polls of the longest kind: the agent itself begins anew then
DEAF_S = 90.0
_REMEDY = "`sudo systemctl restart barnacle`, or end and start it"


async def check(patient: Patient) -> Finding:
    if patient.hear is None:
        return Finding.ok(
            "no platform is configured: `barnacle channel add NAME` lets people write to the "
            "agent, `barnacle channel list` has the names"
        )
    try:
        heard_s = await patient.hear()
    except ChannelUnavailable:
        return Finding.ok("no agent runs, so none is heard")
    except TimeoutError:
        return Finding.failed(f"the agent runs and does not answer: {_REMEDY}")
    status = read_status(patient.status_file)
    channels = () if status is None or not status.is_running else status.channels
    if troubles := [f"{one.name}: {one.trouble}" for one in channels if one.trouble]:
        return Finding.warning("; ".join(troubles))
    if deaf := [name for name, age_s in heard_s.items() if age_s > DEAF_S]:
        ages = ", ".join(f"{name} for {heard_s[name]:.0f} s" for name in deaf)
        return Finding.failed(f"the agent has heard nothing of {ages}: {_REMEDY}")
    told = ", ".join(f"{name} {age_s:.0f} s ago" for name, age_s in heard_s.items())
    return Finding.ok(f"heard: {told}" if told else "the agent runs and needs to hear nobody")
