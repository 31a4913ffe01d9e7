"""Pictures from the two folders that a message may name: the workspace, and what was received."""

import asyncio
from pathlib import Path

from agent.errors import BarnacleError
from agent.messages import Image
from agent.providers.pictures.kinds import image_of
from agent.security.paths import open_beneath

# A disk that does not answer must not hold a turn
READ_TIMEOUT_S = 10.0


class PictureFiles:
    """Reads pictures.

    Args:
        workspace: where a path without a beginning is looked for.
        inbox: where channels put what people send; named by its whole path.
    """

    def __init__(self, workspace: Path, inbox: Path, max_bytes: int) -> None:
        self._workspace = workspace
        self._inbox = inbox
        self._max_bytes = max_bytes

    async def load(self, reference: str) -> Image | str:
        """The picture, or why there is none."""
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                return await asyncio.to_thread(self._read, reference)
        except BarnacleError as err:
            return str(err)
        except TimeoutError:
            return f"it could not be read within {READ_TIMEOUT_S:.0f} s"
        except OSError as err:
            return f"it cannot be read: {err.strerror}"

    def _read(self, reference: str) -> Image | str:
        root, relative = self._place_of(reference)
        with open_beneath(root, relative) as file:
            content = file.read(self._max_bytes + 1)
        return image_of(content, self._max_bytes)

    def _place_of(self, reference: str) -> tuple[Path, str]:
        for root in (self._inbox, self._workspace):
            if reference.startswith(f"{root}/"):
                return root, reference.removeprefix(f"{root}/")
        return self._workspace, reference
