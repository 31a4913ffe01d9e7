"""Trial opening of each platform, once, in a folder that is thrown away.

Nothing is asked or sent: opening a channel is no listening.
"""

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agent.clock import SystemClock
from agent.errors import StorageFull
from agent.http import HttpClient
from agent.platforms.base import Reach
from agent.reaching import open_channels
from agent.settings import Paths, Settings

_log = logging.getLogger(__name__)

# Letting go of what never began to listen takes no time; what hangs is not waited for
_CLOSE_TIMEOUT_S = 5.0


def check_openable(settings: Settings, environ: Mapping[str, str]) -> None:
    """Open every channel of the configuration.

    Raises:
        ConfigRefused: one cannot be used so.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="barnacle-") as folder:
            asyncio.run(_opened(settings, environ, Path(folder)))
    except (OSError, StorageFull) as err:
        # What cannot be tried is not refused for it
        _log.warning("the platforms were not tried: %s", err)


async def _opened(settings: Settings, environ: Mapping[str, str], folder: Path) -> None:
    http = HttpClient()
    try:
        reach = Reach(Paths(None, folder), environ, http, SystemClock())
        for channel in open_channels(settings, reach):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await channel.aclose()
    finally:
        await http.aclose()
