"""Messages of gpt-oss: channels for thoughts, calls and text, with their tokens or without them."""

import re

from agent.providers.prompted.calls import TakenCalls, named_call
from agent.providers.prompted.lenient import LenientReader, Unreadable
from agent.providers.prompted.templates.base import Template

_MESSAGE = re.compile(
    r"\s*+(?:<\|start\|>(?P<role>[\w.]{1,80})(?P<to>[^<]{0,120}))?"
    r"<\|channel\|>(?P<channel>\w{1,20})(?P<head>[^<]{0,120})(?:<\|constrain\|>\w{0,20}\s{0,4})?"
    r"<\|message\|>"
)
_OPENINGS = ("<|start|>assistant", "<|channel|>")
_END = re.compile(r"<\|(?:end|call|return|start|channel)\|>")
_TARGET = re.compile(r"\bto=([\w.-]{1,80})")
# As a server leaves it that takes the tokens out
_BARE_MESSAGE = re.compile(r"assistant(?P<channel>final|commentary|analysis)")
_BARE_CALL = re.compile(r"\s{0,4}to=([\w.-]{1,80})\s{0,4}(?:json|code)?\s{0,4}(?=\{)")


class _Messages:
    """Messages of one answer, as they are read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._shown: list[str] = []

    def taken(self, place: int) -> TakenCalls:
        while message := _MESSAGE.match(self._text, place):
            if message["role"] not in {None, "assistant"}:
                # Somebody else's turn, which nobody but the model has written
                break
            target = _TARGET.search(f"{message['to'] or ''} {message['head']}")
            if target is not None and target[1].startswith("functions."):
                return self._call(target[1], message.end())
            end = _END.search(self._text, message.end())
            stop = end.start() if end else len(self._text)
            if message["channel"] != "analysis":
                self._shown.append(self._text[message.end() : stop])
            is_closed = end is not None and end[0] not in {"<|start|>", "<|channel|>"}
            place = end.end() if end and is_closed else stop
        return TakenCalls((), len(self._text), shown="".join(self._shown), is_frame=True)

    def _call(self, name: str, place: int) -> TakenCalls:
        shown, end = "".join(self._shown), len(self._text)
        reader = LenientReader(self._text)
        try:
            found = reader.value(place)
        except Unreadable as err:
            is_cut = err.place >= end
            return TakenCalls((), end, str(err), is_cut=is_cut, shown=shown)
        is_open = not self._text.startswith("<|call|>", reader.after_space(found.end))
        wanted = (named_call(name, found.value),)
        # What follows a call is the tool's to say
        return TakenCalls(wanted, end, is_open=is_open, shown=shown)


def _take(text: str, place: int) -> TakenCalls:
    opening = next(one for one in _OPENINGS if text.endswith(one, 0, place))
    return _Messages(text).taken(place - len(opening))


def take_bare(text: str) -> TakenCalls:
    """Return an answer whose tokens the server took out; it begins with a thought."""
    place = 0
    shown: list[str] = []
    while message := _BARE_MESSAGE.search(text, place):
        place = message.end()
        if message["channel"] == "commentary" and (call := _BARE_CALL.match(text, place)):
            try:
                found = LenientReader(text).value(call.end())
                return TakenCalls(
                    (named_call(call[1], found.value),), len(text), shown="".join(shown)
                )
            except Unreadable as err:
                return TakenCalls((), len(text), str(err), is_cut=err.place >= len(text))
        following = _BARE_MESSAGE.search(text, place)
        if message["channel"] == "final":
            shown.append(text[place : following.start() if following else len(text)])
    return TakenCalls((), len(text), shown="".join(shown), is_frame=True)


TEMPLATE = Template("harmony", _take, openings=_OPENINGS)
