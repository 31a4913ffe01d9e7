"""JSON as people write it: with comments, open ends, single quotes and bare keys."""

import json
import re
from pathlib import Path
from typing import Any

from agent.provision.foreign_jobs import NoAgent, text_of

# In the order in which they are tried: what is inside a string is no comment
_JSON5 = re.compile(
    r'"(?:\\.|[^"\\])*"'
    r"|'(?:\\.|[^'\\])*'"
    r"|//[^\n]*|/\*.*?\*/"
    r"|,(?=\s*[}\]])"
    r"|[A-Za-z_$][\w$]*(?=\s*:)",
    re.DOTALL,
)


def json5_of(path: Path) -> dict[str, Any]:
    """Return a file of JSON, with comments, open ends and bare keys if it likes."""

    def plain(found: re.Match[str]) -> str:
        text = found[0]
        if text[0] == '"':
            return text
        if text[0] == "'":
            return json.dumps(text[1:-1].replace("\\'", "'"))
        return "" if text[0] in "/," else json.dumps(text)

    # Twice: a comment may stand between a comma and the end
    text = _JSON5.sub(plain, _JSON5.sub(plain, text_of(path)))
    try:
        config = json.loads(text)
    except ValueError as err:
        raise NoAgent(f"{path}: {err}") from err
    if not isinstance(config, dict):
        raise NoAgent(f"{path} holds no settings")
    return config
