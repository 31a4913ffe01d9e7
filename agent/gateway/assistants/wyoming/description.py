"""Description of the agent, as a program that handles what was said."""

from agent import __version__
from agent.net.wyoming import WyomingEvent

# Home Assistant offers an agent only for languages that it names. The models speak more than these;
# without a model it is six of them
_CODES = (
    "af ar bg bn bs ca cs cy da de el en es et eu fa fi fr gl gu he hi hr hu hy id is it ja ka "
    "kn ko lb lt lv mk ml mn mr ms nb ne nl nn pa pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur "
    "vi zh"
)
LANGUAGES = tuple(_CODES.split())
_BY = {"name": "Barnacle", "url": ""}


def described(name: str) -> WyomingEvent:
    """Return what a client is told that asks.

    Args:
        name: of the agent, which people choose it by.
    """
    artifact = {"attribution": _BY, "installed": True, "version": __version__}
    about = "an agent with a board, sensors and memories of its own"
    model = {**artifact, "name": "barnacle", "description": about, "languages": LANGUAGES}
    program = {
        **artifact,
        "name": name,
        "description": about,
        "models": [model],
        "supports_handled_streaming": True,
        "supports_home_control": True,
    }
    others = ("asr", "tts", "intent", "wake", "mic", "snd")
    return WyomingEvent("info", {**{one: [] for one in others}, "handle": [program]})
