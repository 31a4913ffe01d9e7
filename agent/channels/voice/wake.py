"""Wake phrase: of what is heard in a room, only what begins with it is for the agent.

It is looked for in the words that were written down; or a service of the house hears it, and what
it was not heard in is never written down.
"""

import asyncio
import contextlib
import logging
import math
import re
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agent.channels.speech.pcm import RATE_HZ, SAMPLE_BYTES
from agent.channels.speech_settings import VoiceSettings
from agent.errors import SpeechUnavailable
from agent.system.clock import Clock
from agent.text.printable import printable_line

if TYPE_CHECKING:
    from agent.channels.speech.wyoming import WyomingConnection, WyomingService

_log = logging.getLogger(__name__)

# After the phrase alone; a person breathes and goes on
ATTENTIVE_S = 8.0
# A service tells of the phrase later than it was said: this long after the silence that ends it
LATE_S = 1.0
# Nobody calls twice within it
_ONE_CALL_S = 1.0
# A service that starts with the machine is there soon
AGAIN_S = 5.0
# Two seconds of sound that a service has not taken yet; what comes then is lost to it
_MAX_WAITING = 20
# More than anybody says while one sentence is written down
_MAX_CALLS = 16
_MAX_SHOWN, _MAX_WORD_CHARS = 8, 40
_SHAPE = {"rate": RATE_HZ, "width": SAMPLE_BYTES, "channels": 1}
_WORD = re.compile(r"[^\W_]+")
# As openWakeWord numbers its models: hey_jarvis_v0.1
_VERSION = re.compile(r"[\W_]+v[0-9][0-9.]*\Z", re.IGNORECASE)
_CALLING = r"(?:(?:hey|hi|hello|ok|okay|hallo|hola|oye)\W+)?"
# Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana and Han
_UNSPACED = (
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
# Where a word ends; a Korean name that is called has an ending of its own
_END = rf"(?:[아야](?!\w)|(?<={_UNSPACED})|(?={_UNSPACED})|(?!\w))"
# What a command begins with: nobody says it, and a recogniser may write it
_NOT_SAID = re.compile(r"^[\W_]+")


class WakePhrase:
    """Recognition of the phrase.

    Args:
        phrase: in the recogniser's spelling; empty where everything is for the agent.
    """

    def __init__(self, phrase: str) -> None:
        words = r"\W+".join(map(re.escape, _WORD.findall(phrase)))
        self._begin = re.compile(rf"\W*{_CALLING}{words}{_END}", re.IGNORECASE) if words else None
        self._attentive_until_s = -math.inf

    def order_in(self, heard: str, begun_s: float, ended_s: float) -> str:
        """Return the words that are for the agent; empty for none.

        Args:
            begun_s: when the sentence began, however long it took to write it down.
            ended_s: when it ended, by the same clock, which never goes back.
        """
        if self._begin is None:
            return _plain(heard)
        called = self._begin.match(heard)
        if called is None:
            is_attentive = begun_s < self._attentive_until_s
            self._attentive_until_s = -math.inf
            return _plain(heard) if is_attentive else ""
        order = _plain(heard[called.end() :])
        self._attentive_until_s = -math.inf if order else ended_s + ATTENTIVE_S
        return order

    def without(self, heard: str) -> str:
        """Return what was said, without the phrase if it begins with that."""
        called = self._begin.match(heard) if self._begin else None
        return _plain(heard[called.end() :] if called else heard)


def _plain(heard: str) -> str:
    """Return what was said, never a command as somebody types it."""
    return _NOT_SAID.sub("", heard).strip()


class WakeService:
    """Client of a service that hears the phrase, by Wyoming; it gets the sound of the room.

    Args:
        server: where it is.
        phrase: one of its words.
    """

    def __init__(self, server: "WyomingService", phrase: str, clock: Clock) -> None:
        self._server = server
        self._phrase = phrase
        self._clock = clock
        # A recogniser may leave the "hey" out, or spell it in its own way
        named = re.sub(rf"^{_CALLING}", "", _spoken(phrase))
        self._begin = WakePhrase(named)
        # Each piece with its time
        self._sound: asyncio.Queue[tuple[bytes, float]] = asyncio.Queue(_MAX_WAITING)
        self._given_bytes = 0
        # When the phrase was heard, as far as nothing has been ordered by it
        self._calls: deque[float] = deque(maxlen=_MAX_CALLS)
        self._told_s = -math.inf
        self._is_called = asyncio.Event()
        # Why the phrase cannot be heard; empty where it can
        self.trouble = f"{server.address} has not been asked for wake words yet"

    @property
    def heard_s(self) -> float:
        """Return how much of the room it has been given: the time by which calls are told apart."""
        return self._given_bytes / SAMPLE_BYTES / RATE_HZ

    def give(self, block: bytes) -> None:
        """Let it hear the next piece of the room."""
        if not self._sound.full():
            self._sound.put_nowait((block, self.heard_s))
        self._given_bytes += len(block)

    async def run(self) -> None:
        """Listen for ever; while the service is away nothing is for the agent."""
        while True:
            try:
                await self._listen(await self.word())
            except SpeechUnavailable as err:
                if self.trouble != str(err):
                    _log.warning("voice: wake word not heard (error=%s)", err)
                self.trouble = str(err)
            await self._clock.sleep(AGAIN_S)

    async def word(self) -> str:
        """Return the phrase as the service calls it.

        Raises:
            SpeechUnavailable: it is not there, or does not know the phrase.
        """
        programs = await self._server.programs("wake")
        known = [one for program in programs for one in _words_of(program)]
        wanted = _spoken(self._phrase)
        for name, said in known:
            if wanted in {_spoken(name), _spoken(said)}:
                return name
        shown = ", ".join(dict.fromkeys(_spoken(name) for name, _ in known[:_MAX_SHOWN]))
        raise SpeechUnavailable(
            f"{self._server.address} does not know the wake word {self._phrase!r}: set "
            f"channels.voice.wake to one of: {shown or 'none are installed there'}"
        )

    async def called_in(self, begun_s: float, ended_s: float) -> bool:
        """Return true if the phrase was heard in a sentence, or not long before it."""

        def is_called() -> bool:
            return any(begun_s - ATTENTIVE_S < at_s <= ended_s for at_s in self._calls)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LATE_S):
                while not (is_called() or self.trouble):
                    self._is_called.clear()
                    await self._is_called.wait()
        return is_called()

    def order_in(self, heard: str, ended_s: float) -> str:
        """Return the words that are for the agent; empty for none, and it waits for more.

        Args:
            ended_s: when the sentence ended; calls until then have had their order by it.
        """
        order = self._begin.without(heard)
        while order and self._calls and self._calls[0] <= ended_s:
            self._calls.popleft()
        return order

    async def _listen(self, word: str) -> None:
        async with self._server.talk() as server:
            await server.tell("detect", {"names": [word]})
            await server.tell("audio-start", _SHAPE)
            _log.info("voice: wake word service listens (word=%s)", printable_line(word, 40))
            self.trouble = ""
            giving = asyncio.ensure_future(self._give(server))
            try:
                async for event in server.events(is_patient=True):
                    if event.type == "detection" and event.text("name") in {"", word}:
                        self._note_call(event.data.get("timestamp"))
            finally:
                giving.cancel()

    def _note_call(self, timestamp: object) -> None:
        """Keep a call; its time is that of the sound, where the service tells it."""
        at_s = timestamp / 1000 if type(timestamp) is int and timestamp >= 0 else math.inf
        at_s = min(at_s, self.heard_s)
        # It tells of one phrase several times in a row
        if at_s - self._told_s > _ONE_CALL_S:
            self._calls.append(at_s)
            self._is_called.set()
        self._told_s = at_s

    async def _give(self, server: "WyomingConnection") -> None:
        """Send the room's sound; a service that has gone ends the events."""
        while not self._sound.empty():
            self._sound.get_nowait()
        while True:
            block, at_s = await self._sound.get()
            await server.tell("audio-chunk", {**_SHAPE, "timestamp": round(at_s * 1000)}, block)


def open_wake_service(wanted: VoiceSettings, clock: Clock) -> WakeService | None:
    """Return the service of the house that hears the phrase; None where none is configured."""
    if not wanted.wake_server:
        return None
    from agent.channels.speech.wyoming import WyomingService  # noqa: PLC0415 - few rooms have one

    return WakeService(WyomingService(wanted.wake_server), wanted.wake, clock)


def _words_of(program: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names of a service's words, each with the way it is said."""
    models = program.get("models")
    for model in models if isinstance(models, list) else ():
        if not isinstance(model, dict):
            continue
        name, said = model.get("name"), model.get("phrase")
        if isinstance(name, str) and 0 < len(name) <= _MAX_WORD_CHARS:
            yield name, said if isinstance(said, str) else ""


def _spoken(name: str) -> str:
    """Return a phrase or the name of a model as words of small letters."""
    return " ".join(_WORD.findall(_VERSION.sub("", name).lower()))
