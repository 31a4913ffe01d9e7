"""Choice of the daemon's account."""

from typing import Any

from msgspec import Struct

from agent.channels.signal.client import SignalClient, unknown
from agent.channels.signal.errors import SignalMethodMissing
from agent.errors import ChannelRefused


class SignalAccount(Struct, frozen=True):
    """Account; `name` for calls is empty if the daemon has only one."""

    name: str
    names: tuple[str, ...]


async def find_account(daemon: SignalClient, wanted: str) -> SignalAccount:
    """Return the named account, or the only one.

    Raises:
        ChannelRefused: there is none, another, or too many.
        ChannelUnavailable: the daemon does not say.
    """
    try:
        told = await daemon.call("listAccounts", {})
    except SignalMethodMissing:
        # Started with -a: it serves that account, whatever it is asked
        return SignalAccount(wanted, (wanted,))
    accounts = [one for one in told or () if isinstance(one, dict)]
    names = _names(_chosen(accounts, wanted))
    if not names:
        raise ChannelRefused(unknown(wanted))
    return SignalAccount(wanted or names[0], names)


def _chosen(accounts: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    if wanted:
        for account in accounts:
            if wanted.lower() in map(str.lower, _names(account)):
                return account
        raise ChannelRefused(unknown(wanted))
    if not accounts:
        raise ChannelRefused(
            "the signal-cli daemon has no account yet: `barnacle signal link` or the page Channels "
            "of the console links one"
        )
    if len(accounts) > 1:
        raise ChannelRefused(
            "the signal-cli daemon has several accounts: set channels.signal.account"
        )
    return accounts[0]


def _names(account: dict[str, Any]) -> tuple[str, ...]:
    """Return the number, and the id if there is one."""
    told = (account.get("number"), account.get("aci"), account.get("uuid"))
    return tuple(name for name in told if isinstance(name, str) and name)
