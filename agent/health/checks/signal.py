"""Is the signal-cli daemon there, and does it know the account?"""

from agent.errors import ChannelError, ChannelUnavailable
from agent.health.base import Finding, Patient


async def check(patient: Patient) -> Finding:
    """Nobody has to have it: without [channels.signal] there is no such channel."""
    if patient.probe_signal is None:
        return Finding.ok("not configured: [channels.signal] lets people write to the agent there")
    try:
        return Finding.ok(await patient.probe_signal())
    except ChannelUnavailable as err:
        return Finding.warning(f"{err}; start it by `signal-cli daemon --http`")
    except ChannelError as err:
        return Finding.failed(str(err))
