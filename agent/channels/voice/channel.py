"""Voice channel, and the platform that builds it: a room with a microphone and a loudspeaker.

Who speaks in a room is not known, so its words are a guest's unless the configuration says more.
While the loudspeaker speaks nothing is heard, and what it has said is no order when it is heard.
"""

import asyncio
import contextlib
import logging
import os
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from agent.channels.base import SPOKEN_HINT, Abilities, Channel, Deliver, Pulse
from agent.channels.platform import Platform, PlatformContext, SetupKey, open_ears
from agent.channels.settings import ChannelsSettings
from agent.channels.speech.base import SPEAK_TIMEOUT_S, WAV, Recogniser, Speaker, spoken_text
from agent.channels.speech.engines import SpeechParts, open_programs, open_speaker
from agent.channels.speech.pcm import Pcm, read_wav, wav_of
from agent.channels.speech_settings import VoiceSettings
from agent.channels.voice.alsa import BUSY, Loudspeaker, Microphone
from agent.channels.voice.utterances import UtteranceCutter
from agent.channels.voice.wake import WakePhrase, open_wake_service
from agent.config import Secret
from agent.errors import (
    BarnacleError,
    ChannelError,
    ChannelUnavailable,
    ConfigRefused,
    MessageRefused,
    SpeechUnavailable,
)
from agent.messages import Attachment, Inbound, Outbound, Provenance
from agent.system.clock import Clock
from agent.text.echo import OwnSpeech

if TYPE_CHECKING:
    from agent.channels.speech.programs import SoundPrograms

_log = logging.getLogger(__name__)

NAME = "voice"
# Everybody in it: one person to the agent, who is nobody's account
ROOM = "room"
# The last of a sound goes round a room, and through the buffers of the devices
ECHO_TAIL_S = 0.8
# What was said while one recording is written down; nobody goes on after more
_MAX_WAITING = 2
# An answer that comes later is to nobody: whoever asked has gone
LATE_S = 300.0
_MAX_ASKED = 32
# As long as an engine may take, and half a minute of speech by a slow voice
_SAYING_S = SPEAK_TIMEOUT_S + 60.0
# What a probe listens and plays for
_PROBE_S = 0.2
_PROBE_TIMEOUT_S = 3.0
TOO_LONG_TEXT = "The answer is longer than I can say, or is to be looked at."
_NO_ENGINES = (
    "channels.voice needs an engine that hears and one that speaks: add [channels.speech] and "
    "[channels.speech.speaker], as agent/channels/speech/README.md shows"
)
_TRUST = {"guest": Provenance.WEB, "user": Provenance.USER}


class VoiceChannel(Channel):
    """Channel of one room."""

    name = NAME
    # What a room's words are worth is in the configuration of this machine
    abilities = Abilities(hint=SPOKEN_HINT, is_local=True, send_s=_SAYING_S)

    def __init__(self, equipment: "RoomEquipment", settings: VoiceSettings, clock: Clock) -> None:
        self.pulse: Pulse = Pulse(clock)
        self.equipment = equipment
        self._own = equipment.own
        self._clock = clock
        self._trust = _TRUST[settings.trust]
        self._wake = WakePhrase(settings.wake)
        # Hears the phrase in place of the recogniser
        self._service = open_wake_service(settings, clock)
        self._cutter = UtteranceCutter()
        # Each with the time of its end, by the service's count of the sound or by the clock
        self._heard: asyncio.Queue[tuple[Pcm, float]] = asyncio.Queue(_MAX_WAITING)
        self._one_voice = asyncio.Lock()
        # What was not said at the last try, and since when
        self._failing = (-1, 0.0)
        # When what was asked here was heard, by the message's id
        self._asked: deque[tuple[str, float]] = deque(maxlen=_MAX_ASKED)
        self._is_listening = False
        self._deaf_until_s = 0.0
        self._is_speaking = False
        self._trouble = ""

    @property
    def gap(self) -> str:
        return (self._service.trouble if self._service else "") or self._trouble

    def attends(self, message: Outbound) -> bool:
        return self._is_listening

    async def listen(self, deliver: Deliver) -> None:
        """Raises ChannelUnavailable: the microphone is not there, or not any more."""
        self._cutter.reset()
        begun = [self._listen(), self._understand(deliver)]
        if self._service is not None:
            begun.append(self._service.run())
        works = {asyncio.ensure_future(one) for one in begun}
        try:
            done, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_listening = False
            for one in works:
                one.cancel()
            await asyncio.wait(works)
        for one in done:
            one.result()

    async def send(self, message: Outbound) -> None:
        """Return when it has been said, or when nobody waits for it any more.

        Raises:
            ChannelUnavailable: it has not been said.
            MessageRefused: nor at any try in the last minutes.
        """
        said = await asyncio.to_thread(spoken_text, message.text)
        async with self._one_voice:
            if self._is_late(message.in_reply_to):
                _log.info("voice: answer came too late, not spoken (limit_s=%.0f)", LATE_S)
                return
            try:
                await self._say(said or TOO_LONG_TEXT)
            except BarnacleError as err:
                self._trouble = str(err)
                raise self._unsaid(message, str(err)) from err

    def _unsaid(self, message: Outbound, trouble: str) -> ChannelError:
        """Return the failure; what cannot be said for long does not hold up the rest."""
        now_s = self._clock.monotonic_s()
        failing, since_s = self._failing
        if failing != message.outbox_id:
            self._failing = (message.outbox_id, now_s)
        elif now_s - since_s >= LATE_S:
            return MessageRefused(f"it could not be said for {LATE_S:.0f} s: {trouble}")
        return ChannelUnavailable(trouble)

    async def _listen(self) -> None:
        """Cut the microphone's stream into utterances; one that nobody has room for is dropped."""
        async with contextlib.aclosing(self.equipment.microphone.blocks()) as blocks:
            async for block in blocks:
                self._is_listening = True
                self.pulse.beat()
                if self._service is not None:
                    # Never what the loudspeaker says
                    self._service.give(bytes(len(block)) if self.is_deaf else block)
                if self.is_deaf:
                    self._cutter.reset()
                    continue
                for utterance in self._cutter.feed(block):
                    if self._heard.full():
                        _log.info("voice: more was said than can be written down")
                    else:
                        self._heard.put_nowait((utterance, self._heard_s))

    @property
    def _heard_s(self) -> float:
        return self._service.heard_s if self._service else self._clock.monotonic_s()

    @property
    def is_deaf(self) -> bool:
        """Return true while the loudspeaker speaks, and as long as its echo may be heard."""
        return self._is_speaking or self._clock.monotonic_s() < self._deaf_until_s

    async def _understand(self, deliver: Deliver) -> None:
        while True:
            utterance, ended_s = await self._heard.get()
            if not await self._is_called(utterance, ended_s):
                continue
            with _in_memory(utterance) as speech:
                words, trouble = await self.equipment.recogniser.words(speech)
            self._trouble = "" if words else trouble
            begun_s = ended_s - utterance.duration_s
            if words and (inbound := self._understood(words, begun_s, ended_s)) is not None:
                await deliver(inbound)

    async def _is_called(self, utterance: Pcm, ended_s: float) -> bool:
        """Return false where a service listens for the wake phrase and has not heard it."""
        if self._service is None:
            return True
        return await self._service.called_in(ended_s - utterance.duration_s, ended_s)

    def _understood(self, words: str, begun_s: float, ended_s: float) -> Inbound | None:
        """Return the message; None where it is not for the agent, or its own words."""
        if self._own.repeats(words):
            _log.info("voice: own words heard, dropped")
            return None
        if self._service is not None:
            order = self._service.order_in(words, ended_s)
        else:
            order = self._wake.order_in(words, begun_s, ended_s)
        if not order:
            return None
        message_id, now_s = uuid.uuid4().hex, self._clock.wall_s()
        self._asked.append((message_id, self._clock.monotonic_s()))
        return Inbound(
            message_id,
            NAME,
            ROOM,
            ROOM,
            order,
            now_s,
            self._trust,
            sender_name=ROOM,
            is_spoken=True,
        )

    def _is_late(self, message_id: str) -> bool:
        """Return true if that was asked too long ago, or before this start."""
        if not message_id:
            return False
        now_s = self._clock.monotonic_s()
        return not any(
            asked == message_id and now_s - at_s <= LATE_S for asked, at_s in self._asked
        )

    async def _say(self, text: str) -> None:
        await self._play(text, await self.equipment.spoken(text))

    async def _play(self, text: str, sound: Pcm) -> None:
        """Speak, deaf until its echo is over."""
        self._is_speaking = True
        self._own.note(text)
        try:
            await self.equipment.loudspeaker.play(sound)
        finally:
            # Once more, for as long as it may be heard after its end
            self._own.note(text)
            self._deaf_until_s = self._clock.monotonic_s() + ECHO_TAIL_S
            self._is_speaking = False


class RoomEquipment:
    """Devices and engines of a room.

    Args:
        own: what the agent has said lately, in all rooms.
    """

    def __init__(
        self,
        microphone: Microphone,
        loudspeaker: Loudspeaker,
        recogniser: Recogniser,
        speaker: Speaker,
        programs: "SoundPrograms",
        own: OwnSpeech,
    ) -> None:
        self.microphone = microphone
        self.loudspeaker = loudspeaker
        self.recogniser = recogniser
        self.own = own
        self._speaker = speaker
        self._programs = programs

    async def spoken(self, text: str) -> Pcm:
        """Return a text as samples.

        Raises:
            SpeechUnavailable: it is not spoken.
        """
        sound = await self._speaker.say(text)
        if sound.media_type == WAV:
            return await asyncio.to_thread(read_wav, sound.content)
        with _kept_in_memory(sound.content) as path:
            return await self._programs.samples_of(Attachment(path, sound.media_type))


@contextlib.contextmanager
def _in_memory(utterance: Pcm) -> Iterator[Attachment]:
    """Yield a recording that is never on a disk, and gone after the block."""
    content = wav_of(utterance)
    with _kept_in_memory(content) as path:
        yield Attachment(path, WAV, "", len(content))


@contextlib.contextmanager
def _kept_in_memory(content: bytes) -> Iterator[str]:
    with os.fdopen(os.memfd_create(NAME), "wb", 0) as file:
        file.write(content)
        yield f"/proc/self/fd/{file.fileno()}"


class Voice(Platform):
    """Platform of a microphone and a loudspeaker."""

    name = NAME
    about = "a microphone and a loudspeaker of this machine"
    is_confirmed = False
    wanted = (
        SetupKey(
            "microphone",
            "The microphone's name in ALSA; empty for the usual one",
            "`arecord -L` lists them.",
            is_needed=False,
        ),
        SetupKey(
            "loudspeaker",
            "The loudspeaker's name in ALSA; empty for the usual one",
            "`aplay -L` lists them.",
            is_needed=False,
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield from ()

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        wanted = channels.voice or VoiceSettings()
        return VoiceChannel(_equipment(channels, wanted, reach), wanted, reach.clock)

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        wanted = channels.voice or VoiceSettings()
        heard = await _listens(Microphone(wanted.microphone, reach.environ))
        spoken = await _plays(Loudspeaker(wanted.loudspeaker, reach.environ))
        called = await _called(wanted, reach.clock)
        is_whole = channels.speech is not None and channels.speech.speaker is not None
        missing = "" if is_whole else f"; {_NO_ENGINES}"
        return f"{heard}; {spoken}; {called}, as a {wanted.trust}{missing}"


PLATFORM = Voice()


def _equipment(
    channels: ChannelsSettings, wanted: VoiceSettings, reach: PlatformContext
) -> RoomEquipment:
    around = SpeechParts(reach.environ, reach.http, reach.paths.workspace)
    recogniser, speaker = (
        open_ears(channels, reach, wanted.wake),
        open_speaker(channels.speech, around),
    )
    if recogniser is None or speaker is None:
        raise ConfigRefused(_NO_ENGINES)
    return RoomEquipment(
        Microphone(wanted.microphone, reach.environ),
        Loudspeaker(wanted.loudspeaker, reach.environ),
        recogniser,
        speaker,
        open_programs(around),
        reach.own_speech or OwnSpeech(),
    )


async def _called(wanted: VoiceSettings, clock: Clock) -> str:
    """Return how the agent is called.

    Raises:
        ChannelUnavailable: the service that hears it is not there, or does not know the word.
    """
    if not wanted.wake:
        return "every sentence is for the agent"
    service = open_wake_service(wanted, clock)
    if service is None:
        return f"called by {wanted.wake!r}"
    try:
        await service.word()
    except SpeechUnavailable as err:
        raise ChannelUnavailable(str(err)) from err
    return f"called by {wanted.wake!r}, heard by {wanted.wake_server}"


async def _listens(microphone: Microphone) -> str:
    """Return how the microphone is.

    Raises:
        ChannelError: it cannot be used.
    """
    try:
        async with contextlib.aclosing(microphone.blocks(_PROBE_TIMEOUT_S)) as blocks:
            async for _ in blocks:
                return f"hears by {microphone.device}"
    except ChannelUnavailable as err:
        if BUSY not in str(err):
            raise
    return f"{microphone.device} is in use, as it is where an agent runs"


async def _plays(loudspeaker: Loudspeaker) -> str:
    """As above, for the loudspeaker: it plays a moment of silence."""
    rate_hz = 16_000
    try:
        await loudspeaker.play(Pcm(bytes(int(2 * rate_hz * _PROBE_S)), rate_hz))
    except ChannelUnavailable as err:
        if BUSY not in str(err):
            raise
        return f"{loudspeaker.device} is in use"
    return f"speaks by {loudspeaker.device}"
