"""An answer of a model as it is said to a person: without leavings, with its files, links shown.

A draft of it only ever becomes more; how often a platform shows it is the business of the channel.
The redactor takes out secrets, at the end of the turn and at the last exit.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from agent.channels.base import Abilities
from agent.messages import Inbound, Provenance, Role
from agent.text.printable import without_turning
from agent.turn.answer_files import MAX_FILES, EnclosedFiles, enclosed, named_files
from agent.turn.outcome import TurnOutcome
from agent.turn.untrusted_links import TRUSTED, without_strange_links

# Why a file of the workspace may not go; empty where it may
MayGo = Callable[[str], Awaitable[str]]
NOTHING_LEFT = "(the model gave an empty answer)"
_NOTES = ("[used tool", "[tool call", "[tool result", "[tool use")
# Blocks and spans of code stay as they are
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_NOTE = re.compile(
    r"^\[(?:used tools?|tool (?:call|result|use)s?)\b[^\]\n]*\]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# A line with a value, another sentence or a time tells or promises something
_LATER = (
    r"every|each|until|when|whenever|if|once|unless|again|later|soon|daily|hourly|tomorrow|tonight"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|mornings?|evenings?|nights?|noon|midnight"
)
_REST = rf"\b(?:(?!\b(?:{_LATER})\b)(?:[^\n\d.:…]|\.(?=\S))){{0,160}}"
_STAGE_TALK = re.compile(
    r"\A(?:(?:(?:ok(?:ay)?|sure|alright)[,.!] )?(?:let me|i'll|i will|i'm going to) (?:now )?"
    rf"(?:check|look|see|search|read|fetch|get|try|find|use|call|open|query){_REST}"
    r"(?:\.\.\.|…|:|\.)"
    # With a full stop it may be what was found: "Reading the file failed."
    rf"|(?:searching|checking|fetching|looking up|reading|calling){_REST}(?:\.\.\.|…|:))"
    r"[ \t]*(?:\n+|\Z)",
    re.IGNORECASE,
)
# Lines of talk before the answer itself; more is the answer
_MOST_TALK = 3


async def _it_may(_path: str) -> str:
    return ""


class AnswerFilter(Struct, frozen=True):
    """Makes answers fit to be said."""

    workspace: Path

    async def worded(
        self, outcome: TurnOutcome, message: Inbound, abilities: Abilities, may_go: MayGo = _it_may
    ) -> EnclosedFiles:
        """The text and the files of an answer.

        Args:
            may_go: says why a file may not go to who reads the answer; nothing where it may.
        """
        used_tools = any(message.role is Role.TOOL for message in outcome.added)
        text = without_artifacts(outcome.text, used_tools=used_tools)
        found = EnclosedFiles(text or NOTHING_LEFT)
        if "[" in text:
            held = await self._held(text, may_go) if abilities.takes_files else {}
            found = await asyncio.to_thread(
                enclosed, text, self.workspace, held, takes_files=abilities.takes_files
            )
        # What somebody passes on they have not written
        said = "" if message.is_forwarded else message.text
        return replace(found, text=without_strange_links(found.text, outcome.provenance, said))

    async def _held(self, text: str, may_go: MayGo) -> dict[str, str]:
        """Return the files that may not go, each with the reason."""
        named = named_files(text, self.workspace)
        held = {path: why for path in named[:MAX_FILES] if (why := await may_go(path))}
        # Nobody is asked about so many
        return held | dict.fromkeys(named[MAX_FILES:], f"more than {MAX_FILES} files")

    def kept(self, outcome: TurnOutcome) -> TurnOutcome:
        """As a history may have it: a model imitates what it is shown of itself."""
        if not outcome.added or outcome.added[-1].role is not Role.ASSISTANT:
            return outcome
        last = outcome.added[-1]
        text = without_artifacts(last.text, used_tools=False) or NOTHING_LEFT
        return replace(outcome, added=(*outcome.added[:-1], last.saying(text)))


def certain(text: str) -> int:
    """Return how many of its characters nothing that follows can take away."""
    line = text.rfind("\n") + 1
    begun = text[line:].lstrip(" \t")[: max(map(len, _NOTES))].lower()
    may_be_note = bool(begun) and any(
        begun.startswith(note) or note.startswith(begun) for note in _NOTES
    )
    return line if may_be_note else len(text)


# Of a long text a word more is not worth another look at all of it
_PARTS = 64
# A word, and after it a link of Markdown, whose end is yet to come
_OPEN_WORD = re.compile(r"\S+\Z")
_OPEN_LINK = re.compile(r"!?\[[^\[\]\n]{0,500}(?:\](?:\([^()\n]*)?)?\Z")


class StreamedDraft:
    """Receiver of a turn's text so far.

    Args:
        said: what the person wrote.
    """

    def __init__(self, show: Callable[[str], Awaitable[None]], said: str) -> None:
        self._show = show
        self._said = said
        self._next_chars = 0
        self._shown = ""

    async def __call__(self, text: str, trust: Provenance, used_tools: bool) -> None:  # noqa: FBT001 - called through a seam
        if len(text) < self._next_chars:
            return
        self._next_chars = len(text) + len(text) // _PARTS
        fit = text[: certain(text)]
        fit = without_artifacts(fit, used_tools=used_tools)
        if trust < TRUSTED:
            fit = _OPEN_LINK.sub("", _OPEN_WORD.sub("", fit))
            fit = without_strange_links(fit, trust, self._said)
        # Empty lines may go with what comes after them
        fit = fit.rstrip()
        if fit and fit != self._shown:
            self._shown = fit
            await self._show(fit)


def without_artifacts(text: str, *, used_tools: bool) -> str:
    """Return the text for a person; empty if there was nothing for one.

    Args:
        used_tools: what was announced before the answer has been done by now.
    """
    text = without_turning(text)
    pieces = _CODE.split(text)
    # Every second piece is code
    kept = [_NOTE.sub("", one) if at % 2 == 0 else one for at, one in enumerate(pieces)]
    cleaned = re.sub(r"\n{3,}", "\n\n", "".join(kept)).strip() if kept != pieces else text
    return _without_stage_talk(cleaned) if used_tools else cleaned


def _without_stage_talk(text: str) -> str:
    rest = text
    for _ in range(_MOST_TALK):
        rest, count = _STAGE_TALK.subn("", rest, count=1)
        if not count:
            break
    # Where nothing else was said it is the answer
    return rest.lstrip() or text
