"""Replacement of picture markers by pictures, just before a conversation is sent.

Only in what a person says: a marker in a tool's result, a memory or an answer is text. The newest
come first where there are many; those of earlier turns are named and not shown again.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from agent.errors import BarnacleError, PicturesRefused
from agent.messages import ChatMessage, Image, Role
from agent.providers.base import Capabilities, ChatRequest, ChatResponse, Provider, TextDelta
from agent.providers.pictures.kinds import image_of
from agent.security.paths import open_beneath
from agent.text.printable import printable_line

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
        """Return the picture, or why there is none."""
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


# Of a conversation, the last messages of the person whose pictures are still shown
SHOWN_TURNS = 3
# Of a picture's name and of the reason why it is not shown
_TOLD_CHARS = 200

_MARKER = re.compile(r"\[IMAGE:([^\[\]\n]{1,2000})\]", re.IGNORECASE)
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_NOT_FETCHED = "provider.fetch_images is off, so pictures from the Internet are not fetched"
_NOT_SEEN = "this model cannot see pictures"
_EARLIER = "shown earlier"
# Pictures that services have refused, of which one is still there after a few turns
MOST_REFUSED = 64


class Pictures(Protocol):
    """Source of pictures."""

    async def load(self, reference: str) -> Image | str:
        """Return the picture, or why there is none."""


class _Album(Struct):
    """Pictures of one request.

    Args:
        model: who is to see them.
        why_not: why none are shown; empty where they are.
    """

    left: int
    model: str | None
    why_not: str
    # What was loaded, or why not, by what the markers say
    loaded: dict[str, Image | str] = field(default_factory=dict)


class PicturesProvider(Provider):
    """Wraps everything that asks a model on behalf of a person.

    Args:
        files: pictures on this device.
        remote: pictures elsewhere; None where none are fetched.
        limit: pictures in one request.
    """

    def __init__(
        self, inner: Provider, files: Pictures, remote: Pictures | None, limit: int
    ) -> None:
        self.name = inner.name
        self._inner = inner
        self._files = files
        self._remote = remote
        self._limit = limit
        # Why a model's service refused a picture, by the hash of both: a name may have another
        # content the next time
        self._refused: dict[int, str] = {}

    async def chat(self, request: ChatRequest) -> ChatResponse:
        asked = await self._with_pictures(request)
        try:
            return await self._inner.chat(asked)
        except PicturesRefused as err:
            return await self._inner.chat(await self._without_refused(request, asked, err))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        asked = await self._with_pictures(request)
        has_begun = False
        try:
            async with aclosing(self._inner.stream(asked)) as items:
                async for item in items:
                    has_begun = True
                    yield item
        except PicturesRefused as err:
            if has_begun:
                raise
            asked = await self._without_refused(request, asked, err)
        else:
            return
        async with aclosing(self._inner.stream(asked)) as items:
            async for item in items:
                yield item

    def capabilities(self, model: str | None = None) -> Capabilities:
        return self._inner.capabilities(model)

    async def list_models(self) -> tuple[str, ...]:
        return await self._inner.list_models()

    async def warm_up(self) -> None:
        await self._inner.warm_up()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _without_refused(
        self, request: ChatRequest, asked: ChatRequest, err: PicturesRefused
    ) -> ChatRequest:
        """Return the request with words for pictures; the refused ones are not sent again.

        They would be sent in each round of three turns, and no service says which one it meant.
        """
        why = str(err)
        for message in asked.messages:
            for image in message.images:
                self._refused[hash((request.model, image))] = why
        while len(self._refused) > MOST_REFUSED:
            del self._refused[next(iter(self._refused))]
        return await self._with_pictures(request, why)

    async def _with_pictures(self, request: ChatRequest, why_not: str = "") -> ChatRequest:
        # Mostly nobody has sent one, and a history is long: what people said is looked at as one
        # text. The prompt is none of it: it says how a picture is named
        said = "".join([one.text for one in request.messages if one.role is Role.USER])
        if not _MARKER.search(said):
            return request
        if not self._inner.capabilities(request.model).vision:
            why_not = _NOT_SEEN
        album = _Album(self._limit, request.model, why_not)
        messages = list(request.messages)
        turns = 0
        for position in reversed(range(len(messages))):
            message = messages[position]
            turns += message.begins_turn
            if _is_marked(message):
                messages[position] = await self._shown(message, album, is_new=turns <= SHOWN_TURNS)
        return replace(request, messages=tuple(messages))

    async def _shown(self, message: ChatMessage, album: _Album, *, is_new: bool) -> ChatMessage:
        """Return a message with its pictures; each marker becomes a word about its picture."""
        words: list[str] = []
        images: list[Image] = []
        for marker in reversed(list(_MARKER.finditer(message.text))):
            reference = marker[1].strip()
            found = await self._found(reference, album) if is_new else _EARLIER
            if isinstance(found, Image):
                images.append(found)
                words.append(f"[picture: {_name_of(reference)}]")
            else:
                why = printable_line(found, _TOLD_CHARS)
                words.append(f"[picture {_name_of(reference)}, not shown: {why}]")
        text = _MARKER.sub(lambda _: words.pop(), message.text)
        return replace(message.saying(text), images=(*message.images, *reversed(images)))

    async def _found(self, reference: str, album: _Album) -> Image | str:
        if album.why_not:
            return album.why_not
        if reference not in album.loaded:
            if album.left == 0:
                return f"only the newest {self._limit} are"
            found = await self._load(reference)
            # Of megabytes a hash takes its time
            if isinstance(found, Image) and self._refused:
                found = self._refused.get(hash((album.model, found)), found)
            album.loaded[reference] = found
            album.left -= isinstance(found, Image)
        elif isinstance(album.loaded[reference], Image):
            return "it is already shown"
        return album.loaded[reference]

    async def _load(self, reference: str) -> Image | str:
        if not _REMOTE.match(reference):
            return await self._files.load(reference)
        return _NOT_FETCHED if self._remote is None else await self._remote.load(reference)


def _is_marked(message: ChatMessage) -> bool:
    return message.role is Role.USER and _MARKER.search(message.text) is not None


def _name_of(reference: str) -> str:
    """Return the end of a path or an address: the person knows the rest."""
    name = re.split(r"[?#]", reference)[0].rstrip("/").rpartition("/")[2]
    return printable_line(name, _TOLD_CHARS)
