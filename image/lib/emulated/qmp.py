"""QEMU's own control line: what it is told, and what it tells."""

import json
import socket
from pathlib import Path
from typing import Any

# It answers in milliseconds; both cores may be busy
_ANSWER_S = 20.0


def order(path: Path, command: str, **arguments: object) -> dict[str, Any]:
    """Have something done; the answer."""
    with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rwb") as lines:
        connection.settimeout(_ANSWER_S)
        connection.connect(str(path))
        lines.readline()
        for asked in ({"execute": "qmp_capabilities"}, _command(command, arguments)):
            lines.write(json.dumps(asked).encode() + b"\n")
            lines.flush()
            answer = json.loads(lines.readline())
            while "event" in answer:
                answer = json.loads(lines.readline())
        return dict(answer)


def _command(name: str, arguments: dict[str, object]) -> dict[str, object]:
    return {"execute": name, "arguments": arguments} if arguments else {"execute": name}
