"""Words of `/plot temperature 24h`, and its answer."""

import re

from agent.errors import BadArguments, BarnacleError
from agent.readings.periods import PERIODS
from agent.readings.summary import summarize
from agent.tools.readings_draw import DrawArguments, ReadingArtist

USAGE = "Say what to draw and for how long: /plot temperature 24h (or 30min, 7d, 4w, today, week)."
_LENGTH = re.compile(r"(\d{1,4})(min|h|d|w)")
_HOURS = {"min": 1 / 60, "h": 1.0, "d": 24.0, "w": 168.0}


def arguments_of(words: str) -> DrawArguments:
    """Return what is to be drawn; the last day where no length is given.

    Raises:
        BadArguments: no reading is named.
    """
    named = words.split()
    dark = bool(named) and named[-1] == "dark"
    named = named[:-1] if dark else named
    last = named[-1].casefold() if named else ""
    length = _LENGTH.fullmatch(last)
    is_time = length is not None or last in PERIODS
    reading = " ".join(named[:-1] if is_time else named)
    if not reading or len(reading) > _MOST_CHARS:
        raise BadArguments(USAGE)
    if length is not None:
        hours = int(length[1]) * _HOURS[length[2]]
        if not hours:
            raise BadArguments(USAGE)
        return DrawArguments(reading, hours=hours, dark=dark)
    return DrawArguments(reading, last if is_time else None, dark=dark)  # type: ignore[arg-type]  # one of the periods


_MOST_CHARS = 64


async def plotted(artist: ReadingArtist, words: str, *, takes_files: bool) -> str:
    """Return the answer: the picture where files can go, else a line of blocks."""
    try:
        drawing = await artist.drawn(arguments_of(words), as_picture=takes_files)
    except BarnacleError as err:
        return str(err)
    found, unit = summarize(drawing.rows), drawing.series.kind.unit
    if found is None:
        return USAGE
    ends = f"{found.lowest.value:g} to {found.highest.value:g} {unit}".strip()
    caption = f"{drawing.series.name}: {ends}"
    if drawing.path:
        return f"[IMAGE:{drawing.path}]\n{caption}"
    return f"{caption}\n{drawing.line}"
