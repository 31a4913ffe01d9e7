"""Parts within the device: each with what it needs beside the agent, and used once."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from functools import partial
from importlib.util import find_spec

from agent.channels.speech.base import OGG
from agent.turn.prompt_files import APPROVALS_FILE, ProjectFiles
from scripts.lib.bench.parts_agent import PATIENCE_S, SENTENCE, Configured, Home, Part, write
from scripts.lib.bench.recordings import spoken, voice_message
from tests.fakes.hostile_site import FURTHER, hostile_sites
from tests.fakes.llm_server import Call, Reply, streamed
from tests.fakes.real_browser import no_browser
from tests.fakes.room import Room, no_alsa, room_in
from tests.fakes.sounds import no_sounds
from tests.fakes.wyoming_house import WyomingHouse, wyoming_house
from tests.waits import wait_until

_TIME, _VOICE = "what time is it", "en-us"
_WORD = "hey_jarvis"
# A word of the page; a busy machine may be too slow for a browser
_PAGE, _TRIES = "Basil", 3
_NAME, _IDENTITY_FILE = "Balanus", "identity.json"
_IDENTITY = {
    "standard": {"protocol": "AIEOS", "version": "1.2.0"},
    "identity": {"names": {"first": _NAME}},
    "linguistics": {"text_style": {"formality_level": 0.2}},
}


def _speech(hears: str, speaks: str, server: str = "") -> str:
    at = f'server = "{server}"\n' if server else ""
    return (
        f'[channels.speech]\nkind = "{hears}"\nvoice = "mirror"\n{at}'
        f'[channels.speech.speaker]\nkind = "{speaks}"\n{at}'
    )


@contextlib.asynccontextmanager
async def _at_the_house(_home: Home) -> AsyncIterator[Configured]:
    async with wyoming_house(WyomingHouse(text=SENTENCE)) as house:
        yield Configured(_write_by_voice, _speech("wyoming", "wyoming", house.server))


@contextlib.asynccontextmanager
async def _on_the_device(_home: Home) -> AsyncIterator[Configured]:
    yield Configured(_write_by_voice, _speech("pocketsphinx", "espeak-ng"))


async def _write_by_voice(home: Home) -> None:
    """The owner records a voice message, and is answered by voice."""
    content = await asyncio.to_thread(voice_message, _TIME, _VOICE)
    world = home.bot.world
    await world.write(voice={**world.keep(content), "duration": 2, "mime_type": OGG})
    await wait_until(lambda: any("voice" in one for one in world.sent), PATIENCE_S)


@contextlib.asynccontextmanager
async def _in_a_room(home: Home) -> AsyncIterator[Configured]:
    house = WyomingHouse(text=f"barnacle {SENTENCE}")
    async with wyoming_house(house):
        with room_in(home.folder / "room") as room:
            lines = f"[channels.voice]\n{_speech('wyoming', 'wyoming', house.server)}"
            yield Configured(partial(_say, room), lines, environ=room.environ)


@contextlib.asynccontextmanager
async def _called_by_a_service(home: Home) -> AsyncIterator[Configured]:
    word = {"name": "listener", "models": [{"name": _WORD}]}
    house = WyomingHouse(text=SENTENCE, wakes=_WORD)
    house.info["wake"] = [word]
    async with wyoming_house(house):
        with room_in(home.folder / "room") as room:
            keys = f'wake = "{_WORD}"\nwake_server = "{house.server}"\n'
            lines = f"[channels.voice]\n{keys}{_speech('wyoming', 'wyoming', house.server)}"
            yield Configured(partial(_say, room), lines, environ=room.environ)


async def _say(room: Room, _home: Home) -> None:
    """Somebody says it in the room, and is answered by the loudspeaker."""
    pcm = await asyncio.to_thread(spoken, SENTENCE, _VOICE)
    await asyncio.to_thread(room.play, pcm)
    await wait_until(lambda: room.said, PATIENCE_S)


@contextlib.asynccontextmanager
async def _with_a_browser(_home: Home) -> AsyncIterator[Configured]:
    with hostile_sites(FURTHER) as (site, _):
        opening = Call("browser_open", json.dumps({"url": f"{site.url}/shop"}))
        deed = partial(_browse, streamed("", opening))
        yield Configured(deed, f'[browser]\n[web]\nlocal = ["{site.spot}"]\n')


async def _browse(opening: Reply, home: Home) -> None:
    """The model opens a page, and closes it when it is written to again."""
    done = streamed("It is done.")
    for _ in range(_TRIES):
        home.answers[:] = [opening, done]
        await write(home)
        if _PAGE in json.dumps(home.model.requests[-1].body):
            break
    else:
        raise AssertionError("the page was not opened; is the machine busy?")
    home.answers[:] = [streamed("", Call("browser_close", "{}", "call_2")), done]
    await write(home)


@contextlib.asynccontextmanager
async def _by_a_program(_home: Home) -> AsyncIterator[Configured]:
    program = '[provider]\nkind = "program"\n[provider.program]\ncommand = ["tail", "-n", "1"]\n'
    yield Configured(write, provider=program)


@contextlib.asynccontextmanager
async def _as_somebody(home: Home) -> AsyncIterator[Configured]:
    state = home.folder / "state"
    workspace = state / "workspace"
    workspace.mkdir(mode=0o700, parents=True)
    (workspace / _IDENTITY_FILE).write_text(json.dumps(_IDENTITY))
    files = ProjectFiles(workspace, state / APPROVALS_FILE, _IDENTITY_FILE)
    [identity] = files.every()
    files.approve(identity.name, identity.digest)
    yield Configured(_write_to_somebody, agent=f'identity = "{_IDENTITY_FILE}"\n')


async def _write_to_somebody(home: Home) -> None:
    await write(home)
    told = json.dumps(home.model.requests[-1].body)
    assert _NAME in told, told[:2000]


_NO_SOUND = no_sounds("espeak-ng", "opusenc")
_NO_RECOGNISER = "" if find_spec("pocketsphinx") else "pocketsphinx is not installed: extra speech"
PARTS = (
    Part("Wyoming client, heard and spoken", _at_the_house, _NO_SOUND),
    Part(
        "pocketsphinx and espeak-ng, heard and spoken",
        _on_the_device,
        _NO_SOUND or _NO_RECOGNISER,
    ),
    Part("channel voice by ALSA, with the Wyoming client", _in_a_room, no_alsa()),
    Part("the same, called by a service for the wake word", _called_by_a_service, no_alsa()),
    Part("browser tool, a page opened and closed", _with_a_browser, no_browser()),
    Part("program as a model (`tail`), one answer", _by_a_program),
    Part("AIEOS identity, one answer", _as_somebody),
)
