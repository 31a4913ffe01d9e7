"""Real PostgreSQL servers in folders of their own, reached by a socket there."""

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

from tests.canaries import secret
from tests.leftovers import at_end
from tests.waits import wait_until_sync

ROOT = Path(__file__).resolve().parents[2]
# A server of Debian's, which has pg_trgm and no pgvector; and one that has it the other way round
DEBIAN = "debian"
PGVECTOR = "pgvector"
PASSWORD = secret("postgres")
# It starts in a fraction of a second; a busy machine takes longer
_START_S = 15.0
# Of <sys/prctl.h>
_PR_SET_PDEATHSIG = 1


def programs(kind: str) -> Path | None:
    """The folder of a server's programs; None where there are none."""
    if kind == PGVECTOR:
        found = [ROOT / ".barnacle" / "pgvector" / "pgserver" / "pginstall" / "bin"]
    else:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        if on_path := shutil.which("postgres"):
            found.append(Path(on_path).resolve().parent)
    return next((folder for folder in found if (folder / "postgres").exists()), None)


def unavailable_reason(kind: str) -> str | None:
    """Why such a server cannot run here."""
    if programs(kind) is None:
        remedy = (
            "scripts/test installs one where there is a wheel for this machine"
            if kind == PGVECTOR
            else "apt-get install postgresql"
        )
        return f"no PostgreSQL server ({kind}) on this machine: {remedy}"
    if os.getuid() == 0 and _unprivileged() is None:
        return "PostgreSQL refuses to run as root, and there is no user postgres or nobody"
    return None


class PostgresServer:
    """A server with one user, `barnacle`, who needs a password; `fresh_url` makes a database."""

    def __init__(self, kind: str, connections: int = 30) -> None:
        bin_folder = programs(kind)
        assert bin_folder is not None
        self.kind = kind
        self._connections = connections
        self.folder = Path(tempfile.mkdtemp(prefix="barnacle-pg-"))
        self._bin = self._within_reach(bin_folder)
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        if (user := _unprivileged()) is not None and os.getuid() == 0:
            shutil.chown(self.folder, user)
        kept = self.folder / "secret"
        kept.write_text(PASSWORD)
        kept.chmod(0o644)
        options = ["-U", "barnacle", "-E", "UTF8", "--locale=C.UTF-8", "-A", "scram-sha-256"]
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, *options, f"--pwfile={kept}", "--no-sync")

    def _within_reach(self, bin_folder: Path) -> Path:
        """Programs below a folder of root's alone are copied to where the server's user may go."""
        if not bin_folder.is_relative_to(ROOT) or os.getuid() != 0:
            return bin_folder
        package = bin_folder.parents[2]
        shutil.copytree(package, self.folder / "package", symlinks=True)
        return self.folder / "package" / bin_folder.relative_to(package)

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", self.folder / "data", "-k", self.folder,
                 "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=8MB",
                 "-c", f"max_connections={self._connections}"],
                stdout=log, stderr=log, **_as_somebody(),
                preexec_fn=_end_with_parent,  # noqa: PLW1509  # it takes no lock
            )  # fmt: skip
        ready = [self._bin / "pg_isready", "-q", "-h", self.folder]

        def is_ready() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "log").read_text()
            return subprocess.run(ready, check=False).returncode == 0

        wait_until_sync(is_ready, look_s=0.02, told=(self.folder / "log").read_text)

    def stop(self) -> None:
        """Every connection is cut."""
        if self._process is not None:
            self._run("pg_ctl", "stop", "-m", "immediate", "-D", str(self.folder / "data"))
            self._process.wait(_START_S)
            self._process = None

    def remove(self) -> None:
        self.stop()
        # Thousands of files: on a busy disk that takes longer than a test may
        removing = subprocess.Popen(["rm", "-rf", self.folder])
        at_end(removing.wait)

    def fresh_url(self) -> str:
        """The address of a new, empty database."""
        self._databases += 1
        name = f"barn{self._databases}"
        self.sql(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str, password: str = PASSWORD) -> str:
        host = quote(str(self.folder), safe="")
        return f"postgresql://barnacle:{password}@/{database}?host={host}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """What psql prints for it."""
        done = self._run("psql", "-qAt", "-h", str(self.folder), "-U", "barnacle",
                         "-d", database, "-c", statement)  # fmt: skip
        return done.stdout.decode().strip()

    def connections(self, database: str) -> int:
        """How many there are to that database."""
        named = database.replace("'", "''")
        asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'"
        return int(self.sql(asked.format(named)))

    def _run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self._bin / program, *arguments],
            check=True, capture_output=True, cwd=self.folder,
            env={**os.environ, "PGPASSWORD": PASSWORD, "LC_ALL": "C.UTF-8"}, **_as_somebody(),
        )  # fmt: skip


def _end_with_parent() -> None:
    """A test run that is killed leaves no server behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _unprivileged() -> str | None:
    names = {user.pw_name for user in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


def _as_somebody() -> dict[str, str | list[str]]:
    """Not root: the server refuses to be."""
    if os.getuid() != 0:
        return {}
    user = _unprivileged()
    assert user is not None
    return {"user": user, "extra_groups": []}
