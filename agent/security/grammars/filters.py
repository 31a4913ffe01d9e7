"""Filters of jq, read as jq reads them: which names a filter uses beyond the JSON that it is given.

A field, a key and the text of a string are data, whatever they are called; only a name that jq
looks up itself counts. Comments, and spaces after a dollar sign, hide nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# The environment is nobody's business, and modules are files that nobody named
_BEYOND_JSON = frozenset({"env", "import", "include", "modulemeta", "get_search_list"})
_ENVIRONMENT = "ENV"
_TOKEN = re.compile(
    r"""
      (?P<space> \s+ )
    | (?P<comment> \#[^\\\r\n]* (?=\n|\Z) )
    | (?P<number> [0-9]+ (?:\.[0-9]*)? (?:[eE][+-]?[0-9]+)? | \.[0-9]+ (?:[eE][+-]?[0-9]+)? )
    | (?P<field> (?<!\.) \. [A-Za-z_][A-Za-z0-9_]* )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* (?: :: [A-Za-z_][A-Za-z0-9_]* )* )
    | (?P<format> @[A-Za-z0-9_]+ )
    | (?P<text> " )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"
_BEFORE_KEY = frozenset({"{", ","})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    # The bracket that it stands in; empty outside of all
    within: str


class Unclear(ValueError):
    """A filter that jq would not read either."""


def name_beyond_json(filter_text: str) -> str:
    """Return the first name in a filter that reaches beyond the JSON; empty where there is none.

    Raises:
        Unclear: a string or a bracket of it does not end.
    """
    tokens = [one for one in _tokens(filter_text) if one.kind not in {"space", "comment"}]
    before = ""
    for place, token in enumerate(tokens):
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.kind == "name":
            if before == "$":
                if token.text.split("::")[0] == _ENVIRONMENT:
                    return f"${token.text}"
            elif _is_looked_up(token, before, following):
                return token.text
        before = token.text
    return ""


def _is_looked_up(token: _Token, before: str, following: str) -> bool:
    is_key = token.within == "{" and before in _BEFORE_KEY and following == ":"
    return not is_key and any(part in _BEYOND_JSON for part in token.text.split("::"))


def _tokens(filter_text: str) -> Iterator[_Token]:
    """All of a filter, those within strings included where they are no text."""
    place, opened = 0, [""]
    while place < len(filter_text):
        if opened[-1] == '"':
            place = _after_text(filter_text, place, opened)
            continue
        found = _TOKEN.match(filter_text, place)
        assert found is not None  # every character is a mark, if nothing else
        place = found.end()
        kind, text = str(found.lastgroup), found[0]
        if kind == "mark" and text == "#":
            # Versions of jq differ in where such a comment ends
            raise Unclear("a comment in it has a backslash or a carriage return")
        within = opened[-1]
        if kind == "text":
            opened.append('"')
        elif kind == "mark" and text in _OPENING:
            opened.append(text)
        elif kind == "mark" and text in _CLOSING:
            _close(text, opened)
        yield _Token(kind, text, within)
    if len(opened) > 1:
        raise Unclear("a string or a bracket in it does not end")


def _close(text: str, opened: list[str]) -> None:
    if len(opened) == 1 or opened.pop() != _OPENING[_CLOSING.index(text)]:
        raise Unclear(f"a {text} in it closes nothing")


def _after_text(filter_text: str, place: int, opened: list[str]) -> int:
    """The place behind the next thing in a string that is more than a character."""
    if filter_text[place] == '"':
        opened.pop()
        return place + 1
    if filter_text[place] != "\\":
        return place + 1
    if filter_text.startswith("\\(", place):
        opened.append("(")
    return place + 2
