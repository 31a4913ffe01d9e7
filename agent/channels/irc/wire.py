"""Lines of IRC, as RFC 2812 and IRCv3's message tags write them; no line is ever believed.

What is sent is made of parts that hold no line end: nothing that a person or a model wrote can
become a command of its own.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

# With the line end, as every server takes them; tags are counted by themselves
MAX_LINE_BYTES = 512
MAX_TAGS_BYTES = 8191
_LINE = re.compile(
    r"(?:@(?P<tags>[^ ]*) +)?(?::(?P<source>[^ ]+) +)?(?P<command>[A-Za-z]+|[0-9]{3})(?P<rest> .*)?"
)
_ESCAPED = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
# What ends a line, or a string in a server written in C
_ENDS = re.compile(r"[\r\n\0]+")
# {}|^ are the lower case of []\~, as of 1993 in Finland
_FOLDED = str.maketrans("[]\\~", "{}|^")


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `command` in upper case, `source` is a server or nick!user@host."""

    command: str
    parameters: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def nick(self) -> str:
        return self.source.partition("!")[0]

    def parameter(self, number: int) -> str:
        """Empty where the line has fewer; -1 is the last."""
        return (
            self.parameters[number]
            if -len(self.parameters) <= number < len(self.parameters)
            else ""
        )


def read_line(raw: bytes) -> Line | None:
    """The line without its end; None for what is none."""
    found = _LINE.fullmatch(raw.decode("utf-8", "replace"))
    if found is None:
        return None
    return Line(
        found["command"].upper(),
        _parameters(found["rest"] or ""),
        found["source"] or "",
        _tags(found["tags"] or ""),
    )


def write_line(command: str, *parameters: str) -> bytes:
    """The line with its end; the last parameter may hold spaces.

    Raises:
        ValueError: a parameter before the last is none, or it would be too long.
    """
    *middle, last = [_ENDS.sub(" ", one) for one in parameters] or [""]
    if any(not one or " " in one or one.startswith(":") for one in middle):
        raise ValueError(f"a parameter of {command} is empty or holds a space")
    words = [command, *middle, *([f":{last}"] if parameters else [])]
    line = " ".join(words).encode("utf-8", "replace") + b"\r\n"
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line of {len(line)} bytes is longer than {MAX_LINE_BYTES}")
    return line


def folded(name: str) -> str:
    """A nick or a channel as servers compare them."""
    return name.lower().translate(_FOLDED)


def _parameters(rest: str) -> tuple[str, ...]:
    middle, colon, last = rest.partition(" :")
    return (*(one for one in middle.split(" ") if one), *((last,) if colon else ()))


def _tags(raw: str) -> Mapping[str, str]:
    pairs = (tag.partition("=") for tag in raw.split(";") if tag)
    return {name: _unescaped(value) for name, _, value in pairs}


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.?)", lambda found: _ESCAPED.get(found[1], found[1]), value, flags=re.DOTALL)
