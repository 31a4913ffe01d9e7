"""Probe of the daemon and the account, in a sentence; nothing is received or sent."""

from agent.channels.settings import SignalSettings
from agent.channels.signal.accounts import find_account
from agent.channels.signal.daemon import Daemon
from agent.http import HttpClient
from agent.printable import printable_line

MAX_VERSION_CHARS = 40


async def probe(settings: SignalSettings, http: HttpClient) -> str:
    """The sentence.

    Raises:
        ChannelError: it cannot be used, and why.
    """
    daemon = Daemon(settings.base_url, "", http)
    await daemon.check()
    account = await find_account(daemon, settings.account)
    told = await daemon.call("version", {})
    version = told.get("version") if isinstance(told, dict) else None
    known = printable_line(str(version or "of an unknown version"), MAX_VERSION_CHARS)
    return f"signal-cli {known} is there with {account.name or 'its only account'}"
