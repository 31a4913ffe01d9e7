"""Linking of an account by a signal-cli daemon: a code to scan, and what came of it.

Whoever scans the code decides whose account it is: the code is a secret. It is in no error.
"""

import re
from collections.abc import Callable

from agent.channels.signal.client import SignalClient
from agent.channels.signal.errors import SignalMethodMissing
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable
from agent.text.printable import printable_line

# Signal shows it in the list of devices
DEVICE_NAME = "Barnacle"
# From the code on the screen to its being scanned; Signal forgets it about then
SCAN_TIMEOUT_S = 300.0
# Signal's servers give the code
URI_TIMEOUT_S = 60.0
MAX_REASON_CHARS = 200
RAN_OUT_TEXT = "the code was not scanned in time: try again"
_URI = re.compile(r"sgnl://linkdevice\?[A-Za-z0-9%&=_.~+/-]{20,1000}")
_OLD_URI = re.compile(r"tsdevice:/?\?[A-Za-z0-9%&=_.~+/-]{20,1000}")
_ANY_URI = re.compile(r"(?:sgnl:|tsdevice:)\S*")
# Words of signal-cli, and of our own limit, where nobody has scanned the code
_NOBODY_SCANNED = re.compile(r"timed out|connection closed|did not answer within", re.IGNORECASE)
Show = Callable[[str], None]


class LinkRanOut(ChannelUnavailable):
    """Nobody scanned the code while Signal knew it."""


async def link_by_daemon(daemon: SignalClient, name: str, show: Show) -> str:
    """Link an account and return it; `show` gets the code to scan.

    Raises:
        LinkRanOut: nobody scanned the code.
        ChannelError: it was not linked.
    """
    try:
        told = await daemon.call("startLink", {}, URI_TIMEOUT_S)
    except SignalMethodMissing as err:
        raise ChannelRefused(
            "this signal-cli daemon serves one account (option -a) and cannot link another: "
            "start it without -a"
        ) from err
    uri = checked(told.get("deviceLinkUri") if isinstance(told, dict) else None)
    show(uri)
    try:
        asked = {"deviceLinkUri": uri, "deviceName": name}
        linked = await daemon.call("finishLink", asked, SCAN_TIMEOUT_S)
    except ChannelError as err:
        raise _failure(err) from None
    known = (linked.get("number") or linked.get("aci")) if isinstance(linked, dict) else None
    return printable_line(str(known or "the account"), MAX_REASON_CHARS)


def checked(uri: object) -> str:
    """Return the address if it can be put on the screen.

    Raises:
        ChannelRefused: it is no such code.
    """
    if isinstance(uri, str) and (_URI.fullmatch(uri) or _OLD_URI.fullmatch(uri)):
        return uri
    raise ChannelRefused("signal-cli gave no code to scan: update signal-cli")


def _failure(err: ChannelError) -> ChannelError:
    """Return the error without the code, which a daemon may repeat in its own."""
    if _NOBODY_SCANNED.search(said := str(err)):
        return LinkRanOut(RAN_OUT_TEXT)
    return type(err)(_ANY_URI.sub("the code", said))
