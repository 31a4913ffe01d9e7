"""Programs that make and convert sound, where this machine has them; and sounds made by them."""

from pathlib import Path
from shutil import which

from agent.channels.speech.pcm import Pcm, wav_of
from agent.channels.speech.programs import SoundPrograms
from agent.messages import Attachment
from agent.security.sandbox.base import Sandbox
from agent.security.sandbox.choice import SandboxChoice
from tests.fakes.sandbox import bubblewrap, no_bubblewrap

_PACKAGES = {"espeak-ng": "espeak-ng", "opusenc": "opus-tools", "ffmpeg": "ffmpeg"}


def no_sounds(*programs: str) -> str:
    """Why programs cannot make sound here; empty where they can."""
    missing = [_PACKAGES[one] for one in programs if which(one) is None]
    if missing:
        return f"not installed: apt-get install {' '.join(missing)}"
    return no_bubblewrap()


def programs_in(workspace: Path, folder: Path = Path("/usr/bin")) -> SoundPrograms:
    """The programs, in the sandbox of this machine."""
    return programs_by(bubblewrap(workspace), folder)


def programs_by(sandbox: Sandbox | None, folder: Path = Path("/usr/bin")) -> SoundPrograms:
    """The programs in any sandbox; None for a machine without one."""
    trouble = "" if sandbox else "no sandbox found: run `sudo apt install bubblewrap`"
    return SoundPrograms(lambda: SandboxChoice(sandbox, trouble), folder)


def silence(path: Path, duration_s: float = 0.1, rate_hz: int = 16_000) -> Attachment:
    """A WAV file in which nothing is said."""
    return kept(path, wav_of(Pcm(bytes(2 * int(rate_hz * duration_s)), rate_hz)), "audio/wav")


def kept(path: Path, content: bytes, media_type: str) -> Attachment:
    """A recording as a channel keeps it."""
    path.write_bytes(content)
    return Attachment(str(path), media_type, "", len(content))
