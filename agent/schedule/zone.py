"""Local time zone by name, which knows when summer time ends."""

import os
from datetime import UTC, tzinfo
from pathlib import Path

_LOCALTIME = Path("/etc/localtime")
# Where Python itself looks on Linux. It takes these from a record of how it was built, which is
# loaded for this alone and takes 0.7 MB
_ZONES = "/usr/share/zoneinfo:/usr/lib/zoneinfo:/usr/share/lib/zoneinfo:/etc/zoneinfo"


def local_zone(localtime: Path = _LOCALTIME) -> tzinfo:
    """Return the zone of TZ, else the machine's, else UTC."""
    os.environ.setdefault("PYTHONTZPATH", _ZONES)
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only where something runs at a time

    try:
        if named := os.environ.get("TZ", "").lstrip(":"):
            return ZoneInfo(named)
        with localtime.open("rb") as file:
            return ZoneInfo.from_file(file, key=str(localtime.resolve()).partition("zoneinfo/")[2])
    except (OSError, ValueError):
        return UTC
