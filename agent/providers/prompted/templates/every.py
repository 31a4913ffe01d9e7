"""All templates, and the search for their openings."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from agent.providers.prompted.calls import bare
from agent.providers.prompted.templates import (
    command,
    deepseek,
    dsml,
    functionary,
    gemma,
    harmony,
    kimi,
    llama,
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
    harmony.TEMPLATE,
    phi.FUNCTOOLS,
    command.TEMPLATE,
    command.BLOCK,
    functionary.TEMPLATE,
    plugins.INTERNLM,
    plugins.APERTUS,
    # After the form that begins with the same word
    react.TEMPLATE,
)
_ANYWHERE = {opening: one for one in TEMPLATES for opening in one.openings}
_AT_LINE_START = {opening: one for one in TEMPLATES for opening in one.line_openings}
# The longest opening, and a tool's name after it
_MOST_CHARS = max(map(len, (*_ANYWHERE, *_AT_LINE_START))) + 80
_NAME = re.compile(r"[ \t]{0,4}`?([\w.-]{0,65})`?")
# Names that stand for people
_OTHERS = ("all",)


@dataclass(frozen=True, slots=True)
class Opening:
    """Beginning of a call in a text, and where its inside begins."""

    template: Template
    end: int


def opening_at(
    text: str, place: int, offered: Collection[str], *, is_line_start: bool
) -> Opening | None:
    """Return the opening at `place`; None if none is, or if it may yet turn out to be prose."""
    for opening, template in _known(is_line_start=is_line_start):
        end = place + len(opening)
        if text.startswith(opening, place) and (
            not template.names_tool or _named_tool(text, end, offered) is not None
        ):
            return Opening(template, end)
    return None


def may_become_opening(
    text: str, place: int, offered: Collection[str], *, is_line_start: bool
) -> bool:
    """Return true if the rest of the text is a beginning of an opening, with its tool's name."""
    rest = text[place : place + _MOST_CHARS]
    if place + len(rest) < len(text):
        return False
    for opening, template in _known(is_line_start=is_line_start):
        if opening.startswith(rest):
            return True
        if template.names_tool and rest.startswith(opening):
            begun = _NAME.match(rest, len(opening))
            if begun is not None and begun.end() == len(rest):
                return any(one.startswith(begun[1]) for one in (*offered, *_OTHERS))
    return False


def _named_tool(text: str, place: int, offered: Collection[str]) -> str | None:
    name = _NAME.match(text, place)
    if name is None or name.end() == len(text):
        return None
    return name[1] if bare(name[1]) in offered or name[1] in _OTHERS else None


def _known(*, is_line_start: bool) -> tuple[tuple[str, Template], ...]:
    return _LINE if is_line_start else _PLAIN


# The longest first, so that one which begins like another is found
_PLAIN = tuple(sorted(_ANYWHERE.items(), key=lambda one: -len(one[0])))
_LINE = tuple(sorted({**_ANYWHERE, **_AT_LINE_START}.items(), key=lambda one: -len(one[0])))
