"""A process that opens a page in a browser and keeps it open: to be killed."""

import asyncio
import sys

from tests.fakes.hostile_site import HostileSite
from tests.fakes.real_browser import desk_for


async def browse(port: int) -> None:
    site = HostileSite(port)
    desk = desk_for(site)
    view = await desk.open("owner", f"{site.url}/two")
    sys.stdout.write(f"{view.reading.title}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(browse(int(sys.argv[1])))
