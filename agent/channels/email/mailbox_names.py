"""Names of mailboxes as IMAP writes them: letters beyond ASCII in a Base64 of its own (RFC 3501).

A name that somebody copied from a server in that form stays as it is.
"""

import base64
import re

# What stands for itself; an `&` does where it begins no letters in Base64
_BEYOND = re.compile(r"[^ -~]+")
_AND = re.compile(r"&(?![A-Za-z0-9+,]*-)")


def written_name(name: str) -> str:
    """Return the name of a mailbox as it goes to a server, in its quotes."""
    told = _BEYOND.sub(_in_base64, _AND.sub("&-", name))
    escaped = told.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _in_base64(found: re.Match[str]) -> str:
    coded = base64.b64encode(found[0].encode("utf-16-be", "replace"), b"+,")
    return f"&{coded.decode('ascii').rstrip('=')}-"
