"""A conversation as a model is shown it again: in order, alternating, and without old ballast.

Pure functions over messages; what is left out here stays in the database.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec.structs import replace

from agent.messages import ChatMessage, Role
from agent.passage import joined, own

# English prose takes four characters a token; JSON and code take fewer
PROSE_CHARS = 4.0
CODE_CHARS = 3.0
# Other scripts, in bytes of UTF-8: two or three letters of Cyrillic, one sign of Chinese
OTHER_BYTES = 3.0
# Role, separators and call ids of one message
MESSAGE_TOKENS = 6


def tokens_of_text(text: str, chars_per_token: float = PROSE_CHARS) -> int:
    """Of a text in any script."""
    total = len(text.encode("utf-8", "replace"))
    ascii_chars = total if text.isascii() else len(text.encode("ascii", "ignore"))
    return int(ascii_chars / chars_per_token + (total - ascii_chars) / OTHER_BYTES) + 1


def tokens_of(message: ChatMessage) -> int:
    """Of a message with its calls; pictures are counted where they are loaded."""
    is_prose = message.role is not Role.TOOL
    count = MESSAGE_TOKENS + tokens_of_text(message.text, PROSE_CHARS if is_prose else CODE_CHARS)
    for call in message.tool_calls:
        count += MESSAGE_TOKENS + tokens_of_text(call.name + call.arguments_json, CODE_CHARS)
    return count


# In so many of the last turns results and pictures are shown as they were
FRESH_TURNS = 3
# Of an older result, so much still tells what it was
STALE_RESULT_CHARS = 240
STALE_MARK = " [... an old result, cut: ask the tool again]"
SEEN_PICTURE = "(a picture that was shown earlier)"
# Of a turn that is no longer shown, by who said it
DIGEST_USER_CHARS = 160
DIGEST_AGENT_CHARS = 240
# All of them together: a page of the prompt
DIGEST_CHARS = 1600
_PICTURE = re.compile(r"\[IMAGE:[^\[\]\n]+\]")
NO_RESULT = "error: this call was cut off; nobody knows what came of it"


def normalised(messages: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Beginning with a person's message, alternating, and each call with one result."""
    kept: list[ChatMessage] = []
    for turn in turns_of(tuple(messages)):
        kept += _with_results(turn)
    return tuple(_merged(kept))


def turns_of(messages: Sequence[ChatMessage]) -> list[tuple[ChatMessage, ...]]:
    """Split where a person speaks; what comes before anybody spoke is left out."""
    starts = [i for i, message in enumerate(messages) if message.begins_turn]
    return [tuple(messages[start:end]) for start, end in pairwise([*starts, len(messages)])]


def without_ballast(
    messages: Sequence[ChatMessage], fresh_turns: int = FRESH_TURNS
) -> tuple[ChatMessage, ...]:
    """Long results and pictures of older turns become a word each."""
    turns = turns_of(messages)
    old = len(turns) - fresh_turns
    return tuple(
        _stale(message) if age < old else message
        for age, turn in enumerate(turns)
        for message in turn
    )


def digest(earlier: str, messages: Sequence[ChatMessage], max_chars: int = DIGEST_CHARS) -> str:
    """Return a digest of turns that are removed: questions and answers, newest lines."""
    lines = earlier.splitlines()
    for message in messages:
        text = " ".join(_PICTURE.sub(SEEN_PICTURE, message.text).split())
        if message.role is Role.USER and text:
            lines.append(f"- person: {_cut(text, DIGEST_USER_CHARS)}")
        elif message.role is Role.ASSISTANT and text and not message.tool_calls:
            lines.append(f"- you: {_cut(text, DIGEST_AGENT_CHARS)}")
    while lines and sum(map(len, lines)) + len(lines) > max_chars:
        del lines[0]
    return "\n".join(lines)


def with_short_result(message: ChatMessage, limit: int) -> ChatMessage:
    """A tool's result cut to what tells what it was; any other message as it is."""
    if message.role is not Role.TOOL or len(message.text) <= limit + len(STALE_MARK):
        return message
    return message.saying(message.text[:limit] + STALE_MARK)


def _stale(message: ChatMessage) -> ChatMessage:
    if message.role is Role.USER:
        # Mostly there is none, and this is done for every message of every turn
        text = _PICTURE.sub(SEEN_PICTURE, message.text)
        return message if text == message.text else message.saying(text)
    return with_short_result(message, STALE_RESULT_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _with_results(turn: Sequence[ChatMessage]) -> Iterable[ChatMessage]:
    """Results follow their calls at once; a call without one is told to have none."""
    results: dict[str, list[ChatMessage]] = {}
    for message in turn:
        if message.role is Role.TOOL:
            results.setdefault(message.call_id, []).append(message)
    for message in turn:
        if message.role is Role.TOOL:
            continue
        yield message
        for call in message.tool_calls:
            # Some services count calls anew in each answer: the first one left is this one's
            found = results.get(call.call_id)
            yield found.pop(0) if found else ChatMessage.tool(call, own(NO_RESULT), is_error=True)


def _merged(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Two messages of the same speaker in a row become one."""
    merged: list[ChatMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if last is not None and last.role is message.role and message.role is not Role.TOOL:
            both = joined("\n\n", [one.words for one in (last, message) if one.text])
            if not last.tool_calls:
                merged[-1] = replace(message, words=both)
                continue
        merged.append(message)
    return merged
