"""Does Telegram know the bot, and may this machine listen for it?"""

from agent.errors import ChannelError, ChannelUnavailable
from agent.health.base import Finding, Patient


async def check(patient: Patient) -> Finding:
    """Without [channels.telegram] there is no such channel; a missing token is raised."""
    if patient.probe_telegram is None:
        return Finding.ok("not configured: [channels.telegram] lets people write to a bot of yours")
    try:
        return Finding.ok(await patient.probe_telegram())
    except ChannelUnavailable as err:
        return Finding.warning(f"{err}; what people write there waits for a day")
    except ChannelError as err:
        return Finding.failed(str(err))
