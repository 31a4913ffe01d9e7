"""A person's program for encrypted rooms: matrix-sdk-crypto, which is what Element reads with."""

import base64
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.fakes.synapse import MatrixUser

_ROOT = Path(__file__).resolve().parents[2]
_CLIENT = Path(__file__).parent / "element" / "client.mjs"
# Where scripts/test puts it
_LIBRARY = _ROOT / ".barnacle/element/node_modules/@matrix-org/matrix-sdk-crypto-wasm" / "node.mjs"


def absence() -> str:
    """Why it cannot be started here; empty where it can."""
    if shutil.which("node") is None:
        return "there is no node, which runs Element's library: install Debian's package nodejs"
    if not _LIBRARY.exists():
        return f"there is no {_LIBRARY.parent}: run scripts/test"
    return ""


class Element:
    """One person's program, from its start to `close`; each call waits for its answer."""

    def __init__(self, user: MatrixUser) -> None:
        told = {"BASE": user.server, "USER": user.id, "DEVICE": user.device, "TOKEN": user.token}
        environ = {"PATH": os.environ.get("PATH", os.defpath), "LIBRARY": _LIBRARY.as_uri(), **told}
        self._process = subprocess.Popen(
            ["node", str(_CLIENT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
        )
        self._asking = threading.Lock()
        assert self._answer() == "ready"

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def say(self, room: str, content: dict[str, object], txn: str | None = None) -> str:
        return str(self._ask("say", room=room, content=content, txn=txn))

    def give(self, room: str, text: str, name: str, content: bytes) -> str:
        given = base64.b64encode(content).decode()
        return str(self._ask("give", room=room, text=text, name=name, base64=given))

    def take(self, file: dict[str, Any]) -> bytes:
        """What is in a file that somebody gave."""
        return base64.b64decode(self._ask("take", file=file))

    def events(self, room: str) -> list[dict[str, Any]]:
        """What happened in a room, opened where that can be."""
        found: list[dict[str, Any]] = self._ask("shown", room=room)
        return found

    def renew(self, room: str) -> None:
        """Have another key for what is said next: what `/discardsession` does in Element."""
        self._ask("renew", room=room)

    def keep_keys_back(self) -> None:
        """What is said goes, and what it is read with does not."""
        self._ask("slow", on=True)

    def hand_keys_on(self) -> None:
        self._ask("slow", on=False)

    def _ask(self, do: str, **asked: object) -> Any:
        assert self._process.stdin is not None
        with self._asking:
            self._process.stdin.write(json.dumps({"do": do, **asked}) + "\n")
            self._process.stdin.flush()
            return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        told = json.loads(line) if line else {"failed": "the program ended"}
        assert "failed" not in told, told
        return told["told"]
