"""A throw-away Debian of this machine's architecture, started with its own systemd."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.lib.progress import end

PACKAGES = "systemd,systemd-sysv,dbus,python3,python3-venv,ca-certificates"
# A start without devices takes seconds
_START_TIMEOUT_S = 60
_LOOK_AGAIN_S = 0.2
_PIP_CONF = Path("/etc/pip.conf")
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"}
_ENVIRONMENT |= {"LANG": "C.UTF-8", "HOME": "/root"}


class Container:
    """A system that runs; `do` runs a program in it as root."""

    def __init__(self, root: Path, init: int) -> None:
        self.root = root
        self._enter = ["nsenter", "--all", f"--target={init}"]

    def do(self, *command: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._enter, *command],
            env=_ENVIRONMENT | _of_pip(),
            input=said,
            capture_output=True,
            text=True,
            check=False,
        )

    def say(self, *command: str) -> str:
        return self.do(*command).stdout.strip()


@contextmanager
def started(tar: Path, root: Path) -> Iterator[Container]:
    """Unpack a system into `root` and start it; it is gone afterwards."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    subprocess.run(["tar", "-xpf", tar, "-C", root], check=True)
    command = ["systemd-nspawn", "--quiet", f"--directory={root}", "--register=no", "--keep-unit"]
    command += [f"--bind-ro={place}" for place in _places_of_pip()]
    # systemd 257 wants control groups of the second version
    environment = dict(os.environ) | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
    with (root.parent / f"{root.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--console=pipe", "--boot"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield _wait(root, process)
    finally:
        end(process)
        shutil.rmtree(root, ignore_errors=True)


def _wait(root: Path, process: subprocess.Popen[bytes]) -> Container:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until_s = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < until_s and process.poll() is None:
        if init := children.read_text().split():
            container = Container(root, int(init[0]))
            if container.say("systemctl", "is-system-running") in {"running", "degraded"}:
                return container
        time.sleep(_LOOK_AGAIN_S)
    raise OSError(f"the system in {root} did not start; {root}.log says more")


def _of_pip() -> dict[str, str]:
    """Return pip's settings of this machine, those of the user included."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_")} | {
        name: os.environ[name] for name in ("http_proxy", "https_proxy") if name in os.environ
    }


def _places_of_pip() -> list[str]:
    """Folders and files that those settings name, so that they are found inside too."""
    text = _PIP_CONF.read_text() if _PIP_CONF.exists() else ""
    named = re.findall(r"(?:file://)?(/[\w./-]+)", f"{text} {' '.join(_of_pip().values())}")
    found = {Path(name) for name in named if not name.startswith("//") and Path(name).exists()}
    certificates = {path.parent for path in found if path.suffix == ".crt"}
    places = {path for path in found if path.suffix != ".crt"} | certificates
    return sorted(map(str, places | ({_PIP_CONF} if text else set())))
