"""Arguments for any tool, made from its schema: what fits it and leads somewhere in a world."""

import json
from collections.abc import Iterator, Mapping

from agent.errors import BarnacleError
from agent.messages import ToolCall
from agent.tools.base import AnyTool

URL = "https://news.example.org/basil"
MOST_CALLS = 12
# Of anything that is counted
_MANY = 12
# What a field of that name leads to; of any other name, and beyond these, what follows
_NAMED: Mapping[str, tuple[object, ...]] = {
    "path": (
        *("found.txt", "found.pdf", "broken.pdf", "lamp.jpg", "nothing.txt", "link"),
        *(".results/1800000000-abcdef12-page.web.txt", ".", "repo"),
    ),
    "repository": ("repo",),
    "folder": (".",),
    "url": (URL,),
    "argv": (["status"], ["ls"], ["cat", "found.txt"]),
    "script": ("",),
    "file": ("SKILL.md", "nothing.md"),
    "to": ("anna", "nobody"),
    "source": ("", "https://tea.example.org/"),
    "category": ("", "core"),
    "at": ("2027-06-01T08:00",),
    "cron": ("",),
    "message": ("hello",),
    "prompt": ("",),
    "pattern": ("**",),
    "files": ("**",),
    "query": ("*", "pump", "page", "basil"),
    "name": ("watering", "asked", "reminder", "absent"),
    "key": ("tea", ""),
    "becomes": ("",),
    "say": ("hello",),
    "ask": ("",),
    "output": ("led",),
    "agent": ("reader",),
    "task": ("read the page",),
    "pin": ("a0", "led"),
    "old": ("pump",),
    "new": ("lamp",),
    "content": ("x",),
    "entity": ("light.desk",),
    "service": ("turn_on",),
    "area": ("",),
    "domain": ("",),
}
_STRINGS: tuple[object, ...] = ("found.txt", "x", "hello")


def calls(tool: AnyTool) -> list[ToolCall]:
    """Calls that the tool takes, and one that it does not."""
    found: list[ToolCall] = []
    for arguments in _candidates(tool.spec().parameters):
        written = json.dumps(arguments)
        try:
            tool.parse(written)
        except BarnacleError:
            # One refusal is looked at, too; the others are alike
            if any(call.call_id == "refused" for call in found):
                continue
            found.append(ToolCall("refused", tool.name, written))
            continue
        found.append(ToolCall(f"call{len(found)}", tool.name, written))
        if len(found) > MOST_CALLS:
            break
    return found


def _candidates(parameters: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Each value of each field once, the others as they usually are; then without the optional."""
    fields = parameters.get("properties", {})
    assert isinstance(fields, dict)
    required = parameters.get("required", ())
    assert isinstance(required, list | tuple)
    values = {name: list(_values(name, schema)) for name, schema in fields.items()}
    usual = {name: of[0] for name, of in values.items()}
    yield {name: usual[name] for name in required}
    longest = max(map(len, values.values()), default=0)
    for at in range(longest):
        yield {name: of[at % len(of)] for name, of in values.items()}
    for name, of in values.items():
        for value in of[1:]:
            plain = {one: usual[one] for one in required}
            yield {**plain, name: value}
    for left_out in values:
        yield {name: value for name, value in usual.items() if name != left_out}


def _values(name: str, schema: Mapping[str, object]) -> Iterator[object]:
    options = schema.get("anyOf")
    if isinstance(options, list):
        for option in options:
            yield from _values(name, option)
        return
    choices = schema.get("enum")
    if isinstance(choices, list | tuple):
        yield from choices
        return
    match schema.get("type"):
        case "boolean":
            yield from (False, True)
        case "integer" | "number":
            low = schema.get("minimum", 1)
            yield low if isinstance(low, int | float) and low > 0 else 1
            high = schema.get("maximum", _MANY)
            yield min(high, _MANY) if isinstance(high, int | float) else _MANY
        case "array":
            yield from _NAMED.get(name, ([],))
        case "object":
            yield {}
        case "null":
            yield None
        case _:
            yield from _NAMED.get(name, _STRINGS)
