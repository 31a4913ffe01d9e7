"""Login by password: keeps its token and device, and renews the token.

The device stays the same as long as its file does: other people's programs know it by its keys.
"""

import asyncio
import contextlib
import logging
from pathlib import Path

import msgspec

from agent.channels.matrix.client import (
    MatrixApi,
    MatrixFixedToken,
    MatrixRefused,
    MatrixTokenLapsed,
)
from agent.config import Secret
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, StorageFull
from agent.net.http import HttpClient
from agent.storage.files import write_atomic

_log = logging.getLogger(__name__)

# What people see in the list of the account's devices
DEVICE_NAME = "Barnacle"
MAX_FILE_BYTES = 16 * 1024


class _Kept(msgspec.Struct, frozen=True):
    base_url: str
    user: str
    device: str
    token: str


class MatrixLogin:
    """Login of one account at one server.

    Args:
        user: as people log in with it: `barnacle`, or `@barnacle:example.org`.
        path: of the file that keeps it; whoever reads that is the agent to the server.
    """

    def __init__(
        self, base_url: str, user: str, password: Secret, path: Path, http: HttpClient
    ) -> None:
        self._base_url = base_url
        self._user = user
        self._password = password
        self._http = http
        self._path = path
        # A login is asked for without a token
        self._api = MatrixApi(base_url, MatrixFixedToken(Secret()), http)
        self._entering = asyncio.Lock()
        self._kept: _Kept | None = None
        self._is_new = False

    async def token(self) -> Secret:
        async with self._entering:
            if self._kept is None:
                self._kept = await asyncio.to_thread(self._read)
            if self._kept is None:
                await self._enter("")
                self._is_new = True
            return self._token()

    async def renew(self, used: Secret, lapsed: MatrixTokenLapsed) -> None:
        async with self._entering:
            if self._kept is not None and used != self._token():
                # Somebody else had it renewed meanwhile
                return
            if not lapsed.is_soft:
                raise ChannelRefused(
                    f"the Matrix server ended the login: remove {self._path} to log in again"
                ) from lapsed
            await self._enter(self._kept.device if self._kept else "")

    async def start_over(self) -> bool:
        """Give up the login, whose keys are lost, and start another."""
        api = MatrixApi(self._base_url, MatrixFixedToken(await self.token()), self._http)
        with contextlib.suppress(ChannelError):
            await api.call("POST", "/logout", {})
        async with self._entering:
            self._kept = None
            self._is_new = False
            await asyncio.to_thread(self._path.unlink, missing_ok=True)
        return True

    async def leave_if_new(self) -> None:
        """Log out if this login was made only for a question."""
        if self._is_new:
            await self.start_over()

    def proof(self, account: str) -> dict[str, object]:
        who = {"type": "m.id.user", "user": account}
        proof = {
            "type": "m.login.password",
            "identifier": who,
            "password": self._password.reveal(),
        }
        return {"auth": proof}

    async def _enter(self, device: str) -> None:
        body: dict[str, object] = {
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": self._user},
            "password": self._password.reveal(),
            "initial_device_display_name": DEVICE_NAME,
        }
        if device:
            body["device_id"] = device
        try:
            told = await self._api.call("POST", "/login", body)
        except MatrixRefused as err:
            # The server's own words may repeat what it was sent
            raise ChannelRefused(
                f"Matrix login refused ({err.code}): check user and password of channels.matrix"
            ) from None
        token, device_id = told.get("access_token"), told.get("device_id")
        if not (isinstance(token, str) and token.isprintable() and token == token.strip()):
            raise ChannelUnavailable("the Matrix server gave no token")
        entered = _Kept(self._base_url, self._user, str(device_id or ""), token)
        try:
            await asyncio.to_thread(write_atomic, self._path, msgspec.json.encode(entered))
        except (StorageFull, OSError) as err:
            # A device more at each start, whose keys are lost with it
            raise ChannelUnavailable(f"cannot save the Matrix login: {err}") from err
        self._kept = entered
        _log.info("matrix: logged in (device=%s)", entered.device)

    def _token(self) -> Secret:
        return Secret(self._kept.token) if self._kept else Secret()

    def _read(self) -> _Kept | None:
        try:
            with self._path.open("rb") as file:
                kept = msgspec.json.decode(file.read(MAX_FILE_BYTES), type=_Kept)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        # Another account's login is none of this one
        return kept if (kept.base_url, kept.user) == (self._base_url, self._user) else None
