"""All templates, and the search for their openings."""

import re
from collections.abc import Collection
from functools import cache

from msgspec import Struct

from agent.providers.answer import bare
from agent.providers.prompted.templates import (
    command,
    deepseek,
    dsml,
    foreign,
    functionary,
    gemma,
    harmony,
    kimi,
    llama,
    minimax,
    mistral,
    phi,
    plugins,
    pythonic,
    react,
)
from agent.providers.prompted.templates.base import Template

TEMPLATES = (
    mistral.TEMPLATE,
    llama.TEMPLATE,
    pythonic.TEMPLATE,
    deepseek.TEMPLATE,
    dsml.TEMPLATE,
    kimi.TEMPLATE,
    phi.TEMPLATE,
    gemma.TEMPLATE,
    gemma.FUNCTION,
    harmony.TEMPLATE,
    phi.FUNCTOOLS,
    command.TEMPLATE,
    command.BLOCK,
    functionary.TEMPLATE,
    plugins.INTERNLM,
    plugins.APERTUS,
    minimax.TEMPLATE,
    # After the form that begins with the same word
    react.TEMPLATE,
)
_ANYWHERE = {opening: one for one in TEMPLATES for opening in one.openings}
_AT_LINE_START = {opening: one for one in TEMPLATES for opening in one.line_openings}
# Of those that no prose looks like
TOKENS = frozenset(one.name for one in TEMPLATES if one.openings and not one.names_tool) | {
    foreign.FOREIGN
}
# The longest opening, and a tool's name after it
_MOST_CHARS = max(map(len, (*_ANYWHERE, *_AT_LINE_START))) + 80
_NAME = re.compile(r"[ \t]{0,4}`?([\w.-]{0,65})`?")
# Names that stand for people
_OTHERS = ("all",)


Openings = tuple[tuple[str, Template], ...]


@cache
def openings(templates: frozenset[str] | None, *, is_line_start: bool) -> Openings:
    """Return the openings that are looked for, the longest first, so that it is the one found.

    Args:
        templates: those that the model writes; None looks for all. An opening that is a special
            token counts always: it is no prose, whoever writes it.
    """
    at_line_start = {
        opening: one
        for opening, one in _AT_LINE_START.items()
        if is_line_start and (templates is None or one.name in templates)
    }
    found = {**_ANYWHERE, **at_line_start}
    return tuple(sorted(found.items(), key=lambda one: -len(one[0])))


class CallOpening(Struct, frozen=True):
    """Beginning of a call in a text, and where its inside begins."""

    template: Template
    end: int


def opening_at(
    text: str, place: int, offered: Collection[str], known: Openings
) -> CallOpening | None:
    """Return the opening at `place`; None if none is, or if it may yet turn out to be prose."""
    for opening, template in known:
        end = place + len(opening)
        if text.startswith(opening, place) and (
            not template.names_tool or _named_tool(text, end, offered) is not None
        ):
            return CallOpening(template, end)
    token = foreign.TOKEN.match(text, place)
    return None if token is None else CallOpening(foreign.TEMPLATE, token.end())


def may_become_opening(text: str, place: int, offered: Collection[str], known: Openings) -> bool:
    """Return true if the rest of the text is a beginning of an opening, with its tool's name."""
    rest = text[place : place + _MOST_CHARS]
    if place + len(rest) < len(text):
        return False
    for opening, template in known:
        if opening.startswith(rest):
            return True
        if template.names_tool and rest.startswith(opening):
            begun = _NAME.match(rest, len(opening))
            if begun is not None and begun.end() == len(rest):
                return any(one.startswith(begun[1]) for one in (*offered, *_OTHERS))
    return foreign.may_become_token(rest)


def _named_tool(text: str, place: int, offered: Collection[str]) -> str | None:
    name = _NAME.match(text, place)
    if name is None or name.end() == len(text):
        return None
    return name[1] if bare(name[1]) in offered or name[1] in _OTHERS else None
