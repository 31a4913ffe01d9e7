"""Calls of MiniMax's models from M3 on: elements, each with the same token before its mark."""

import re

from agent.providers.prompted.calls import (
    MAX_PARAMETERS,
    NAME,
    TakenCalls,
    WantedCall,
    attributes_of,
    wanted_call,
)
from agent.providers.prompted.lenient import Unreadable
from agent.providers.prompted.templates.base import Template, refused

_BEFORE = "]<]minimax[>["
_TAG = re.compile(
    rf"{re.escape(_BEFORE)}<(?P<end>/?)(?P<name>[A-Za-z_][\w.-]{{0,63}})(?P<rest>[^<>]{{0,200}})>"
)
_END = re.compile(rf"{re.escape(_BEFORE)}</tool_call>")
_SPACE = re.compile(r"\s*+")
_GROUP, _CALL, _ENTRY = "tool_call", "invoke", "item"
# Deeper than the arguments of any tool
_MOST_LEVELS = 8


class _Elements:
    """Elements of a text, read in their order."""

    def __init__(self, text: str) -> None:
        self._text = text

    def taken(self, place: int) -> TakenCalls:
        """Read a group of calls, or one call without the group's mark."""
        group = self._tag(place)
        is_framed = group is not None and not group["end"] and group["name"] == _GROUP
        if group is not None and is_framed:
            place = group.end()
        wanted: list[WantedCall] = []
        while (tag := self._tag(place)) and not tag["end"] and tag["name"] == _CALL:
            one, place = self._call(tag)
            wanted.append(one)
        if not wanted:
            raise Unreadable("it contains no call", place)
        end = self._tag(place)
        if end is not None and end["end"] and end["name"] == _GROUP:
            return TakenCalls(tuple(wanted), end.end())
        return TakenCalls(tuple(wanted), place, is_open=True)

    def _call(self, tag: re.Match[str]) -> tuple[WantedCall, int]:
        tool = attributes_of(tag["rest"]).get("name", "")
        if not NAME.fullmatch(tool):
            raise Unreadable("it does not name a tool", tag.end())
        children, place = self._children(tag.end(), _CALL, 1)
        return wanted_call(tool, _object(children, place)), place

    def _children(
        self, place: int, parent: str, level: int
    ) -> tuple[list[tuple[str, object]], int]:
        """Return the elements within another, and the place after its end."""
        children: list[tuple[str, object]] = []
        while (tag := self._tag(place)) and not tag["end"]:
            if level > _MOST_LEVELS or len(children) == MAX_PARAMETERS:
                raise Unreadable("there are too many arguments", tag.end())
            value, place = self._value(tag.end(), tag["name"], level)
            # Some gateways' prompts teach the form of the models before M3
            children.append((attributes_of(tag["rest"]).get("name", tag["name"]), value))
        if tag is None or tag["name"] != parent:
            raise Unreadable(f"the end of its {parent} is missing", place)
        return children, tag.end()

    def _value(self, place: int, name: str, level: int) -> tuple[object, int]:
        end = self._text.find(_BEFORE, place)
        if end < 0:
            raise Unreadable(f"the end of its {name} is missing", len(self._text))
        tag = _TAG.match(self._text, end)
        if tag is not None and tag["end"] and tag["name"] == name:
            return self._text[place:end], tag.end()
        if self._text[place:end].strip():
            raise Unreadable(f"its {name} holds both text and elements", end)
        children, place = self._children(end, name, level + 1)
        if all(key == _ENTRY for key, _ in children):
            return [value for _, value in children], place
        return _object(children, place), place

    def _tag(self, place: int) -> re.Match[str] | None:
        space = _SPACE.match(self._text, place)
        return _TAG.match(self._text, space.end() if space else place)


def _object(children: list[tuple[str, object]], place: int) -> dict[str, object]:
    members = dict(children)
    if len(members) < len(children):
        raise Unreadable("one of its arguments appears twice", place)
    return members


def _take(text: str, place: int) -> TakenCalls:
    try:
        return _Elements(text).taken(place - len(_BEFORE))
    except Unreadable as err:
        return refused(text, max(place, err.place), _END, str(err))


TEMPLATE = Template("minimax", _take, openings=(_BEFORE,), is_untyped=True)
