"""The real Synapse on a port of this machine, with its database in memory, and people in it."""

import asyncio
import hashlib
import hmac
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import agent
from tests.fakes import certificates
from tests.fakes.irc_server import free_port
from tests.leftovers import at_end
from tests.waits import wait_until, wait_until_sync

# Where scripts/test puts it
SYNAPSE = Path(agent.__file__).parents[1] / ".barnacle" / "synapse"
_CALL_LIMIT_S = 20.0
# It makes its tables in memory at each start, which keeps a core busy for seconds
_START_S = 300.0
_COUNT = itertools.count(1)
_SECRET = "registration-secret-of-the-tests"
_UNLIMITED = {"per_second": 10_000, "burst_count": 10_000}
_LIMITS = ("rc_registration", "rc_presence", "rc_media_create", "rc_room_creation")


def _config(
    folder: Path, port: int, tls_port: int, messages: Mapping[str, float]
) -> dict[str, object]:
    listener = {"port": port, "type": "http", "bind_addresses": ["127.0.0.1"]}
    resources = {"resources": [{"names": ["client"], "compress": False}]}
    key, certificate = certificates.made(folder, "IP:127.0.0.1")
    return {
        "server_name": "example.org",
        "listeners": [
            {**listener, **resources},
            {**listener, **resources, "port": tls_port, "tls": True},
        ],
        "tls_certificate_path": str(certificate),
        "tls_private_key_path": str(key),
        "database": {"name": "sqlite3", "args": {"database": ":memory:"}},
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "key"),
        "pid_file": str(folder / "pid"),
        "registration_shared_secret": _SECRET,
        "report_stats": False,
        "trusted_key_servers": [],
        "bcrypt_rounds": 4,
        "rc_invites": dict.fromkeys(("per_room", "per_user", "per_issuer"), _UNLIMITED),
        "rc_login": dict.fromkeys(("address", "account", "failed_attempts"), _UNLIMITED),
        "rc_joins": dict.fromkeys(("local", "remote"), _UNLIMITED),
        **dict.fromkeys(_LIMITS, _UNLIMITED),
        "rc_message": messages,
    }


class Synapse:
    """A homeserver, from the first use to the end of the run.

    Args:
        messages: how many it takes of one account.
    """

    def __init__(self, folder: Path, messages: Mapping[str, float] = _UNLIMITED) -> None:
        self.port, self.tls_port = free_port(), free_port()
        self.ca_file = folder / "certificate.pem"
        config = folder / "homeserver.json"
        config.write_text(json.dumps(_config(folder, self.port, self.tls_port, messages)))
        environ = {**os.environ, "PYTHONPATH": str(SYNAPSE), "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", "synapse.app.homeserver", "-c", str(config)]
        subprocess.run([*command, "--generate-keys"], check=True, env=environ, capture_output=True)
        with (folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ
            )
        self._output = folder / "output"
        wait_until_sync(self._is_up, _START_S, look_s=0.05, told=self._output.read_text)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def account(self, name: str) -> "MatrixUser":
        """A new one that has this name and a number."""
        path = f"http://127.0.0.1:{self.port}/_synapse/admin/v1/register"
        nonce = _asked("GET", path, "")["nonce"]
        user = f"{name}{next(_COUNT)}"
        signed = f"{nonce}\0{user}\0password\0notadmin".encode()
        mac = hmac.new(_SECRET.encode(), signed, hashlib.sha1).hexdigest()
        told = {"nonce": nonce, "username": user, "password": "password", "admin": False}
        return MatrixUser(self.port, _asked("POST", path, "", {**told, "mac": mac}))

    def _is_up(self) -> bool:
        assert self._process.poll() is None, self._output.read_text()[-2000:]
        try:
            _asked("GET", f"http://127.0.0.1:{self.port}/_matrix/client/versions", "")
        except OSError:
            return False
        return True


class MatrixUser:
    """Somebody with a program for Matrix; each call waits for its answer."""

    def __init__(self, port: int, registered: dict[str, Any]) -> None:
        self.server = f"http://127.0.0.1:{port}"
        self._base = f"{self.server}/_matrix"
        self.id = str(registered["user_id"])
        self.token = str(registered["access_token"])
        self.device = str(registered["device_id"])
        self._counted = itertools.count(1)

    def call(self, method: str, path: str, body: object = None, **query: object) -> Any:
        asked = f"?{urlencode(query)}" if query else ""
        return _asked(method, f"{self._base}/client/v3{path}{asked}", self.token, body)

    def make_room(self, *others: str, **told: object) -> str:
        return str(self.call("POST", "/createRoom", {"invite": list(others), **told})["room_id"])

    def send(self, room: str, content: dict[str, object], txn: str = "") -> str:
        known = txn or f"n{next(self._counted)}"
        path = f"/rooms/{quote(room)}/send/m.room.message/{known}"
        return str(self.call("PUT", path, content)["event_id"])

    def events(self, room: str) -> list[dict[str, Any]]:
        """What happened in a room, oldest first."""
        told = self.call("GET", f"/rooms/{quote(room)}/messages", dir="b", limit=500)
        return [one for one in told["chunk"][::-1] if "redacted_because" not in one["unsigned"]]

    def people(self, room: str) -> set[str]:
        return set(self.call("GET", f"/rooms/{quote(room)}/joined_members")["joined"])

    def upload(self, content: bytes) -> str:
        url = f"{self._base}/media/v3/upload?filename=sheet.pdf"
        return str(_asked("POST", url, self.token, content)["content_uri"])

    def download(self, address: str) -> bytes:
        url = f"{self._base}/client/v1/media/download/{address.removeprefix('mxc://')}"
        told = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(told, timeout=_CALL_LIMIT_S) as answer:
            return bytes(answer.read())


async def until_joined(user: MatrixUser, room: str, account: str) -> None:
    async def has_joined() -> bool:
        return account in await asyncio.to_thread(user.people, room)

    await wait_until(has_joined, look_s=0.02)


@cache
def shared() -> Synapse:
    """One for all tests of this process: each has accounts of its own."""
    if not (SYNAPSE / "synapse").is_dir():
        pytest.skip("Synapse is not in .barnacle/synapse: scripts/test installs it")
    folder = Path(tempfile.mkdtemp(prefix="synapse-"))
    at_end(partial(shutil.rmtree, folder, ignore_errors=True))
    server = Synapse(folder)
    at_end(server.stop)
    return server


def _asked(method: str, url: str, token: str, body: object = None) -> Any:
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=_CALL_LIMIT_S) as answer:
        return json.loads(answer.read())
