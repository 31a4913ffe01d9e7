"""Local time zone by name, which knows when summer time ends."""

import io
import os
import struct
from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_LOCALTIME = Path("/etc/localtime")
# Where Python itself looks on Linux. It takes these from a record of how it was built, which is
# loaded for this alone and takes 0.7 MB
_ZONES = "/usr/share/zoneinfo:/usr/lib/zoneinfo:/usr/share/lib/zoneinfo:/etc/zoneinfo"
# A zone file (RFC 9636) without any change of its own: the rule at its end is all that counts
_HEADER = struct.pack(">4sc15x6I", b"TZif", b"2", 0, 0, 0, 0, 1, 4)
_NO_CHANGES = _HEADER + struct.pack(">iBB", 0, 0, 0) + b"UTC\0"
# What the C library takes where a rule names a summer time and not when it is
_USUAL_SUMMER = ",M3.2.0,M11.1.0"


def local_zone(localtime: Path = _LOCALTIME) -> tzinfo:
    """Return the zone of TZ, read as the C library reads it, else the machine's, else UTC."""
    os.environ.setdefault("PYTHONTZPATH", _ZONES)
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only where something runs at a time

    named = os.environ.get("TZ", "").lstrip(":")
    try:
        if not named:
            return _of_file(localtime)
        return _of_file(Path(named)) if named.startswith("/") else ZoneInfo(named)
    except KeyError:
        # No name of a place: it may be a rule
        return _of_rule(named)
    except (OSError, ValueError):
        return UTC


def _of_file(path: Path) -> "ZoneInfo":
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - as above

    with path.open("rb") as file:
        return ZoneInfo.from_file(file, key=str(path.resolve()).partition("zoneinfo/")[2])


def _of_rule(rule: str) -> tzinfo:
    """Return the zone of a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`; UTC if it is none."""
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - as above

    for whole in (rule, rule + _USUAL_SUMMER):
        content = _NO_CHANGES * 2 + f"\n{whole}\n".encode(errors="replace")
        try:
            return ZoneInfo.from_file(io.BytesIO(content), key=rule)
        except ValueError:
            continue
    return UTC
