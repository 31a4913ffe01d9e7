"""Sentences about the keys of the configuration, from the example that lists every key."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import agent
from agent.app.console.settings_form import FormSection, section_at

# The file that `barnacle check --example` prints
_EXAMPLE = Path(agent.__file__).with_name("cli") / "example.toml"
_TABLE = re.compile(r"(?:# *)?\[(?P<name>[a-z0-9_.]+)\](?: +(?P<about>.*))?")
_KEY = re.compile(r"# *(?P<key>[a-z0-9_]+) = (?:\"[^\"]*\"|\S+)(?P<rest>.*)")
# Words beside a key stand apart from its value
_BESIDE = re.compile(r".*?\s{2,}(?P<said>\S.*)")
# Other services have the keys of the first one
_SAME = {"providers": "provider", "boards": "board"}

Hints = Mapping[tuple[type, str], str]


def hint(section: FormSection, key: str) -> str:
    """Return the sentence about a key; empty if there is none."""
    first = _SAME.get(section.where[0], section.where[0])
    alike = section_at((first, *section.where[2:])) if first != section.where[0] else None
    kinds = [section.kind, *([alike.kind] if alike is not None else [])]
    return next(filter(None, (hints().get((kind, key), "") for kind in kinds)), "")


@cache
def hints() -> Hints:
    """Return all by the type of the section and the key; reads the file once, and blocks."""
    found: dict[tuple[type, str], str] = {}
    kind: type | None = None
    said: list[str] = []
    for line in _EXAMPLE.read_text("utf-8").splitlines():
        if named := _TABLE.fullmatch(line):
            section = section_at(tuple(named["name"].split(".")))
            kind, said = section.kind if section is not None else None, []
        elif (key := _KEY.match(line)) and kind is not None:
            beside = _BESIDE.fullmatch(key["rest"])
            found.setdefault((kind, key["key"]), beside["said"] if beside else " ".join(said))
            said = []
        elif line.startswith("# ") and not line.startswith("#  "):
            said.append(line.removeprefix("# "))
        else:
            said = []
    return found
