"""Marks that models put around tool calls and thoughts, and their beginnings."""

import re

# Longer than any that a model writes; what is longer is text
MAX_MARK_CHARS = 400
# Of the line that begins a code block
MAX_INFO_CHARS = 100

THOUGHTS = frozenset({"think", "thinking", "thought", "reasoning", "seed:think", "mm:think"})
# Each around one call, or a list of them
CALLS = frozenset(
    {"tool_call", "toolcall", "tool-call", "function_call", "function-call", "seed:tool_call"}
)
# Around calls that have marks of their own
GROUPS = frozenset({"tool_calls", "function_calls", "minimax:tool_call"})
# Each with the name of the tool inside
NAMED = frozenset({"invoke", "function"})
# What only a tool can say
RESULTS = frozenset({"tool_result", "tool_response", "function_result", "function_response"})
# Ends an answer of some models; says nothing
END_OF_MESSAGE = "eom"
_NAMES = (*THOUGHTS, *CALLS, *GROUPS, *NAMED, *RESULTS, END_OF_MESSAGE)
# Some models put the name of their maker before it
_PREFIX = "antml:"

# The name of a block of code that is no quotation but a call
CALL_BLOCKS = CALLS | GROUPS
# The name of a block of code whose lines are calls in Python's form
CODE_BLOCKS = frozenset({"tool_code"})
# What a call that is the whole answer may stand in
PLAIN_BLOCKS = frozenset({"", "json", "xml", "tool", "text"})

_ALTERNATIVES = "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True))
MARK = re.compile(
    rf"<(?P<end>/?)(?:{_PREFIX})?(?P<name>{_ALTERNATIVES})(?P<rest>(?:[\s=/][^<>]{{0,300}}+)?)>",
    re.IGNORECASE,
)
# Models begin with one and end with another
END_OF_CALL = re.compile(
    r"</(?:antml:)?(?:tool[_-]?calls?|function[_-]?calls?|minimax:tool_call|seed:tool_call)\s{0,20}>",
    re.IGNORECASE,
)
END_OF_NAMED = re.compile(r"</(?:antml:)?(?:invoke|function)\s{0,20}>", re.IGNORECASE)
END_OF_BLOCK = re.compile(r"\r?\n?[ ]{0,3}(?:`{3,}|~{3,})[ \t]*(?=\r?\n|\Z)")
# Everything that could be taken for a mark, wherever it comes from
_LIKE_A_MARK = re.compile(
    rf"<(?=/?(?:{_PREFIX})?(?:{_ALTERNATIVES}|parameter|arg_key|arg_value)\b)", re.IGNORECASE
)
_LIKE_A_BLOCK = re.compile(
    rf"((?:`{{3}}|~{{3}})[ \t]*)(?=(?:{'|'.join(map(re.escape, sorted(CALL_BLOCKS)))})\b)",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[\s=/]")


def kind_of(mark: re.Match[str]) -> str:
    """Return the name of a mark, as in the sets above."""
    return mark["name"].lower()


def may_become_mark(text: str) -> bool:
    """Return true if more text could complete a mark from this beginning with `<`."""
    if len(text) > MAX_MARK_CHARS or ">" in text or "<" in text[1:]:
        return False
    inside = text[1:].removeprefix("/").lower()
    if _PREFIX.startswith(inside):
        return True
    parts = _SEPARATOR.split(inside.removeprefix(_PREFIX), maxsplit=1)
    if len(parts) > 1:
        return parts[0] in _NAMES
    return any(name.startswith(parts[0]) for name in _NAMES)


def defused(text: str) -> str:
    """Return text from elsewhere in which nothing looks like a mark any more."""
    return _LIKE_A_BLOCK.sub(r"\1quoted ", _LIKE_A_MARK.sub("&lt;", text))
