"""Debian's prosody on ports of this machine, with an archive, rooms and a place for files."""

import contextlib
import functools
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.leftovers import at_end
from tests.waits import wait_until_sync

PROSODY = shutil.which("prosody", path="/usr/bin:/usr/sbin")
HOST = "talk.example.org"
ROOMS = f"rooms.{HOST}"
# What another program serves, which does not run
AWAY = f"away.{HOST}"
PASSWORD = "of the tests"
_CONFIG = """\
run_as_root = true
pidfile = "{folder}/prosody.pid"
data_path = "{folder}/data"
log = {{ {{ levels = {{ min = "info" }}, to = "file", filename = "{folder}/log" }} }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {c2s} }}
c2s_direct_tls_ports = {{ {tls} }}
s2s_ports = {{ }}
component_ports = {{ }}
http_ports = {{ {http} }}
https_ports = {{ }}
http_interfaces = {{ "127.0.0.1" }}
http_host = "127.0.0.1"
http_external_url = "http://127.0.0.1:{http}/"
ssl = {{ key = "{folder}/key.pem", certificate = "{folder}/certificate.pem" }}
c2s_direct_tls_ssl = {{ key = "{folder}/key.pem", certificate = "{folder}/certificate.pem" }}
c2s_require_encryption = true
authentication = "internal_plain"
modules_enabled = {{
  "roster", "saslauth", "tls", "disco", "presence", "message", "iq", "offline", "c2s", "ping",
  {modules}
}}
modules_disabled = {{ "s2s" }}
archive_expires_after = "never"
smacks_hibernation_time = 5
VirtualHost "{host}"
Component "rooms.{host}" "muc"
  modules_enabled = {{ "muc_mam" }}
  muc_room_locking = {is_locking}
  muc_room_default_persistent = true
  muc_room_default_public_jids = {is_open}
  muc_log_by_default = true
Component "away.{host}"
"""
_STORE = f'Component "files.{HOST}" "http_file_share"\n'


class Prosody:
    """The server; accounts are made as they are asked for.

    Args:
        modules: beside the most necessary ones.
        is_open: rooms tell who is in them.
        is_locking: nobody is let into a new room before it is configured, as Debian's default is.
    """

    def __init__(
        self,
        folder: Path,
        modules: tuple[str, ...] = ("mam", "smacks"),
        *,
        is_open: bool = True,
        is_locking: bool = False,
        has_store: bool = True,
    ) -> None:
        self.folder = folder
        self.port, self._tls_port, self._http = (_free_port() for _ in range(3))
        self._process: subprocess.Popen[bytes] | None = None
        self._modules = modules
        self._is_open, self._is_locking = is_open, is_locking
        self._store = _STORE if has_store else ""

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def tls_port(self) -> int:
        return self._tls_port

    def account(self, name: str) -> str:
        """The address of somebody new, who is called so."""
        local = f"{name}-{secrets.token_hex(4)}"
        self.let_in(local)
        return f"{local}@{HOST}"

    def let_in(self, local: str, password: str = PASSWORD) -> None:
        accounts = self.folder / "data" / HOST.replace(".", "%2e") / "accounts"
        accounts.mkdir(parents=True, exist_ok=True)
        name = local.replace("-", "%2d")
        (accounts / f"{name}.dat").write_text(f'return {{ ["password"] = "{password}"; }};\n')

    def start(self) -> None:
        """Return when it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.certificate.exists():
            _make_certificate(self.folder)
        config = self.folder / "prosody.cfg.lua"
        config.write_text(
            _CONFIG.format(
                folder=self.folder,
                host=HOST,
                c2s=self.port,
                tls=self._tls_port,
                http=self._http,
                modules=", ".join(f'"{one}"' for one in self._modules),
                is_open=str(self._is_open).lower(),
                is_locking=str(self._is_locking).lower(),
            )
            + self._store
        )
        with (self.folder / "said").open("ab") as said:
            self._process = subprocess.Popen(
                [str(PROSODY), "-F", "--config", str(config)], stdout=said, stderr=said
            )
        wait_until_sync(self._listens, told=(self.folder / "said").read_text)

    def freeze(self) -> None:
        """It takes nothing from now on, and its connections stay."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "said").read_text()
        with contextlib.suppress(OSError):
            for port in (self.port, self._tls_port):
                socket.create_connection(("127.0.0.1", port)).close()
            return True
        return False


@contextlib.contextmanager
def running(
    folder: Path, modules: tuple[str, ...] = ("mam", "smacks"), **other: bool
) -> Iterator[Prosody]:
    skip_without()
    server = Prosody(folder, modules, **other)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@functools.cache
def shared() -> Prosody:
    """One for all tests of this process: accounts and rooms are of each test alone."""
    skip_without()
    folder = Path(mkdtemp(prefix="prosody-"))
    server = Prosody(folder)
    server.start()

    def end() -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    at_end(end)
    return server


def skip_without() -> None:
    if PROSODY is None:
        pytest.skip("Debian's prosody is not installed")


def _make_certificate(folder: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", f"/CN={HOST}"),
            *("-addext", f"subjectAltName=DNS:{HOST}"),
            *("-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")),
        ],
        check=True,
        capture_output=True,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port
