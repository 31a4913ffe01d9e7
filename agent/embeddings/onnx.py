"""Embeddings on this machine: an ONNX model, loaded in a thread on first use, let go when idle.

A missing or damaged model is `EmbedderUnavailable` with its remedy at every call, and is tried
again as soon as its files change. Importing this module loads no numpy and no runtime.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from agent.embeddings.base import PassageReading, TextPassage
from agent.embeddings.folder import ModelFolder
from agent.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from agent.embeddings.model import ModelSession
    from agent.embeddings.pooling import Vectors

# Nobody has asked for so long: some 20 MB are of more use to others, and loading takes a second.
# After ten minutes without a word nothing of it is left
IDLE_S = 540.0
# All that a turn asks comes within this, and in a row of turns it is a hundredth of their time:
# what was read of the words' rows goes back, 8 MB, and comes again in half a millisecond
REST_S = 0.5
# Without it onnxruntime keeps a number of this machine and a database of what it did in the home
# folder, with a thread that sends it to its makers
_TELLS_NOBODY = "ORT_DISABLE_TELEMETRY"


T = TypeVar("T")
R = TypeVar("R")


class OnnxEmbedder:
    """Runs the model of a folder.

    Args:
        model_dir: holds `model.onnx` and `tokenizer.json`; need not exist.
    """

    def __init__(self, model_dir: Path) -> None:
        self._folder = ModelFolder(model_dir)
        self._session: ModelSession | None = None
        self._failed: tuple[object, str] | None = None
        self._closed = False
        self._loading = Lock()
        # One at a time: two runs would only share the same cores
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed")
        self._letting_go: asyncio.TimerHandle | None = None
        self._resting: asyncio.TimerHandle | None = None

    @property
    def model_id(self) -> str:
        return self._described()[0]

    @property
    def dimensions(self) -> int:
        return self._described()[1]

    async def embed(self, texts: Sequence[str], *, asked: bool = False) -> "Vectors":
        return await self._run(self._embed, list(texts), asked)

    async def read(
        self, passages: Sequence[TextPassage], *, asked: bool = False
    ) -> list[PassageReading]:
        return await self._run(self._read, list(passages), asked)

    async def aclose(self) -> None:
        self._closed = True
        self._stay()
        if self._resting is not None:
            self._resting.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._session = None

    async def _run(self, work: Callable[[list[T], bool], R], given: list[T], asked: bool) -> R:  # noqa: FBT001 - as below
        if self._closed:
            raise EmbedderUnavailable("the embedding model is closed")
        loop = asyncio.get_running_loop()
        self._stay()
        try:
            return await loop.run_in_executor(self._thread, work, given, asked)
        finally:
            if not self._closed:
                self._stay()
                self._letting_go = loop.call_later(IDLE_S, self._let_go)
                self._resting = self._resting or loop.call_later(REST_S, self._rest)

    def _stay(self) -> None:
        """Forget when the model was to be let go."""
        if self._letting_go is not None:
            self._letting_go.cancel()
            self._letting_go = None

    def _let_go(self) -> None:
        self._letting_go = None
        # In its thread: what runs there ends first
        self._thread.submit(self._drop)

    def _rest(self) -> None:
        self._resting = None
        self._thread.submit(self._give_back)

    def _give_back(self) -> None:
        if (session := self._session) is not None:
            session.give_back()

    def _drop(self) -> None:
        with self._loading:
            self._session = None
        from agent.system import pages  # noqa: PLC0415 - once a model has been used

        pages.give_back()

    def _embed(self, texts: list[str], asked: bool) -> "Vectors":  # noqa: FBT001 - an executor passes by place
        return self._loaded().vectors(texts, asked=asked)

    def _read(self, passages: list[TextPassage], asked: bool) -> list[PassageReading]:  # noqa: FBT001 - as above
        return self._loaded().readings(passages, asked=asked)

    def _described(self) -> tuple[str, int]:
        """Return model id and dimensions, without loading if the folder tells them."""
        try:
            if self._session is None and (described := self._folder.description()) is not None:
                return described.model_id, described.dimensions if self._is_there() else 0
            session = self._loaded()
        except EmbedderUnavailable:
            return "", 0
        return session.model_id, session.dimensions

    def _is_there(self) -> bool:
        return self._folder.model.exists() and self._folder.tokenizer.exists()

    def _loaded(self) -> "ModelSession":
        with self._loading:
            if self._session is None:
                self._session = self._load()
            return self._session

    def _load(self) -> "ModelSession":
        fingerprint = self._folder.fingerprint()
        if self._failed is not None and self._failed[0] == fingerprint:
            raise EmbedderUnavailable(self._failed[1])
        try:
            return _new_session(self._folder)
        except EmbedderUnavailable as err:
            self._failed = (fingerprint, str(err))
            raise


def _new_session(folder: ModelFolder) -> "ModelSession":
    # The runtime reads it when it is loaded
    os.environ.setdefault(_TELLS_NOBODY, "1")
    try:
        from agent.embeddings.model import ModelSession  # noqa: PLC0415 - 50 MB, on first use
    except ImportError as err:
        raise EmbedderUnavailable(
            f"{err.name} is not installed: install barnacle with its extra 'embeddings'"
        ) from err
    return ModelSession(folder)
