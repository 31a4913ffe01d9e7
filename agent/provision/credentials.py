"""Secrets that the service is given by systemd: a file each, for root alone, encrypted if possible.

The key that encrypts lies on the same card where there is no TPM: it keeps a copy of one folder
from being enough, and no thief of the card out.
"""

import contextlib
import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct

from agent.channels.credentials import OURS
from agent.channels.settings import ChannelsSettings
from agent.errors import ConfigRefused
from agent.provision.secret_values import Place, secret_keys
from agent.storage.files import sync_folder, write_atomic
from agent.system.programs import run_program

_log = logging.getLogger(__name__)

# Making the machine's key takes a moment on a slow card; it is no reason to hold up the start
_PROGRAM_TIMEOUT_S = 20.0


# Where they are not called as their table and key are
_NAMED = {
    ("provider", "api_key"): "api_key",
    ("gateway", "token"): "gateway_token",
    ("home_assistant", "token"): "home_assistant_token",
    ("channels", "speech", "api_key"): "speech_key",
}


def _declared() -> Iterator[tuple[Place, str]]:
    """Every key of a platform's table that is a secret is a credential, whoever adds it."""
    yield from _NAMED.items()
    for table in msgspec.structs.fields(ChannelsSettings):
        for kind in get_args(table.type):
            for key in secret_keys(kind):
                place = ("channels", table.name, key)
                yield place, _NAMED.get(place, f"{table.name}_{key}")


# Credentials that barnacle.service takes, and where a configuration would say them
CREDENTIALS: dict[Place, str] = dict(_declared())


class Credstore(Struct, frozen=True):
    """Store of credentials.

    Args:
        encrypted: None where the service would not find them there.
        program: systemd's own.
    """

    plain: Path
    encrypted: Path | None = None
    program: str = "systemd-creds"

    def put(self, name: str, value: str) -> None:
        """Keep it in one place alone.

        Raises:
            StorageFull: what was kept before still is.
        """
        sealed = self._sealed(name, value) if self.encrypted is not None else b""
        if sealed and self.encrypted is not None:
            _make_private(self.encrypted)
            write_atomic(self.encrypted / _file(name), sealed)
            _remove(self.plain / _file(name))
            return
        _make_private(self.plain)
        write_atomic(self.plain / _file(name), f"{value}\n".encode())
        if self.encrypted is not None:
            _remove(self.encrypted / _file(name))

    def read(self, name: str) -> str:
        """Return the credential; empty if there is none.

        Raises:
            ConfigRefused: something is kept that cannot be read.
        """
        if self.encrypted is not None:
            with contextlib.suppress(FileNotFoundError):
                sealed = (self.encrypted / _file(name)).read_bytes()
                return self._opened(sealed, name)
        try:
            return (self.plain / _file(name)).read_text("utf-8").strip()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as err:
            raise ConfigRefused(f"cannot read {self.plain / _file(name)}") from err

    def files(self, name: str) -> list[Path]:
        """Return the files that keep the credential; none if there is none."""
        folders = [self.plain, *([self.encrypted] if self.encrypted is not None else [])]
        return [path for folder in folders if (path := folder / _file(name)).exists()]

    def drop(self, name: str) -> None:
        """Forget it, for good: a power cut does not bring it back."""
        _remove(self.plain / _file(name))
        if self.encrypted is not None:
            _remove(self.encrypted / _file(name))

    def _sealed(self, name: str, value: str) -> bytes:
        """The value encrypted; empty where this machine cannot do that and undo it again."""
        words = ["encrypt", "--with-key=host", f"--name={_file(name)}", "-", "-"]
        sealed = self._run(words, value.encode())
        return sealed if sealed and self._decrypted(sealed, name) == value.encode() else b""

    def _decrypted(self, sealed: bytes, name: str) -> bytes:
        return self._run(["decrypt", f"--name={_file(name)}", "-", "-"], sealed)

    def _opened(self, sealed: bytes, name: str) -> str:
        value = self._decrypted(sealed, name)
        if not value:
            raise ConfigRefused(
                f"cannot decrypt the secret {name} any more: write it again over its stars"
            )
        return value.decode("utf-8", "replace")

    def _run(self, words: list[str], given: bytes) -> bytes:
        try:
            done = run_program([self.program, *words], _PROGRAM_TIMEOUT_S, given)
        except (OSError, subprocess.TimeoutExpired):
            return b""
        if done.returncode:
            _log.warning(
                "provision: command failed (program=%s, error=%s)",
                self.program,
                done.stderr.decode("utf-8", "replace").strip(),
            )
            return b""
        return done.stdout


def _file(name: str) -> str:
    """Return the file's name inside an encrypted one: systemd accepts it under no other name."""
    return f"{OURS}{name}"


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
        sync_folder(path.parent)


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
