"""The root file system: the base, what image/overlay adds, the units, and what is left out."""

import os
import shutil
import subprocess
from pathlib import Path

from image.lib import agent_tree
from image.lib.layout import filled_in
from scripts.lib import places
from scripts.lib.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
OVERLAY = ROOT / "image/overlay"
ENABLED = (
    *places.ENABLED,
    # Nothing runs until a browser comes; who is not let in sees the device's name
    *("barnacle-console.socket", "barnacle-first-start.socket"),
    "barnacle-data.service",
    "barnacle-healthy.service",
    *("barnacle-provision.service", "barnacle-pairing.service", "barnacle-ssh.service"),
    *("barnacle-signal-code.path", "barnacle-wifi-again.timer"),
    *("barnacle-started.service", "barnacle-come-back.service", "barnacle-ring.service"),
    "systemd-timesyncd.service",
    "systemd-resolved.service",
    "NetworkManager.service",
)
# The system is read-only, and nobody logs in
DISABLED = (
    *("ssh.service", "ssh.socket", "sshd.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer"),
    *("e2scrub_all.timer", "e2scrub_reap.service", "remote-fs.target", "getty@tty1.service"),
)
MASKED = ("getty.target", "systemd-firstboot.service", "sshd-vsock.socket")
# Folders that data on the card is mounted on
MOUNT_POINTS = ("data", "boot/firmware", "etc/barnacle", "etc/credstore", "etc/credstore.encrypted")
# Files that name places of the card
NAMING = (
    "etc/fstab",
    "usr/lib/barnacle/started",
    "usr/lib/barnacle/ring-device",
    "usr/lib/udev/rules.d/71-barnacle-ring.rules",
)
# Files of /etc that the device writes
LINKS = {
    "resolv.conf": "../run/systemd/resolve/stub-resolv.conf",
    **{name: f"/data/device/{name}" for name in ("hostname", "localtime", "locale.conf")},
}
_DROPPED = (
    *("boot/*", "usr/lib/raspi-firmware"),
    *("etc/ssh/ssh_host_*", "etc/apt/sources.list*", "etc/hostname"),
    *("vmlinuz*", "initrd.img*", "usr/share/doc/*/changelog*"),
    *(f"usr/lib/modules/*/{name}" for name in ("dtb", "vmlinuz", "config", "System.map")),
    *("etc/machine-id", "var/lib/dbus/machine-id", "etc/systemd/system/getty.target.wants"),
    *("dev/*", "run/*", "tmp/*"),
    # Kinds of network that nothing here can drive: NetworkManager loads each of them at every start
    *(
        f"usr/lib/*/NetworkManager/*/libnm-{name}.so"
        for name in (
            *("device-plugin-adsl", "device-plugin-bluetooth", "device-plugin-team"),
            *("device-plugin-wwan", "wwan", "ppp-plugin", "settings-plugin-ifupdown"),
        )
    ),
)


def install_units(root: Path) -> list[str]:
    """Put everything in systemd/ into its place; returns the places."""
    below = Path("usr/lib")
    for place, path in places.of_units().items():
        places.copy(path, root / below / place)
    return [str(below / place) for place in places.of_units()]


def strip(root: Path) -> None:
    """Take out what the firmware partition holds, and what belongs to one machine alone."""
    for pattern in _DROPPED:
        for path in root.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    # The system's folder of variable things is made anew at each start
    (root / "usr/share/barnacle").mkdir(exist_ok=True)
    shutil.copyfile(root / "var/lib/dpkg/status", root / "usr/share/barnacle/packages")
    shutil.rmtree(root / "var")
    (root / "var").mkdir()


def overlay(root: Path) -> None:
    """Lay image/overlay over the system."""
    shutil.copytree(OVERLAY, root, dirs_exist_ok=True)
    for path in OVERLAY.rglob("*"):
        program = "lib/barnacle" in str(path) and path.is_file()
        (root / path.relative_to(OVERLAY)).chmod(0o755 if path.is_dir() or program else 0o644)
    for name in NAMING:
        (root / name).write_text(filled_in((root / name).read_text()))
    for name in MOUNT_POINTS:
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "etc/machine-id").touch(mode=0o444)
    for name, to in LINKS.items():
        link = root / "etc" / name
        link.unlink(missing_ok=True)
        link.symlink_to(to)
    with (root / "usr/lib/os-release").open("a") as release:
        # Until the first start has given it one
        release.write('DEFAULT_HOSTNAME="barnacle"\n')
    generators = root / "etc/systemd/system-generators"
    generators.mkdir(parents=True, exist_ok=True)
    # It would open SSH on sockets that nobody listed
    (generators / "systemd-ssh-generator").symlink_to("/dev/null")


def configure(root: Path, progress: Progress) -> None:
    """Users, and which units start: written by systemd's own tools, without starting anything."""
    enabled = [unit for unit in ENABLED if _is_there(root, unit)]
    systemctl = ["systemctl", f"--root={root}", "--quiet"]
    for title, command in (
        ("make the users", ["systemd-sysusers", f"--root={root}"]),
        ("disable units", [*systemctl, "disable", *(u for u in DISABLED if _is_there(root, u))]),
        ("mask units", [*systemctl, "mask", *MASKED]),
        ("enable units", [*systemctl, "enable", *enabled]),
    ):
        progress.run(title, command, environment=os.environ, remedy="Are the units right?")
    for backup in (*root.glob("etc/*-"), root / "etc/.pwd.lock"):
        backup.unlink(missing_ok=True)


def compile_python(root: Path, uv: Path, progress: Progress) -> None:
    """Bytecode that is right whatever the time says.

    Made by this machine's own Python of the image's version, which takes seconds; where there is
    none, by the image's Python, which is emulated and takes five minutes.
    """
    folders = [f"{agent_tree.PREFIX}/lib", f"usr/lib/python{agent_tree.PYTHON}"]
    folders.append("usr/lib/python3/dist-packages")
    for cache in [path for folder in folders for path in root.glob(f"{folder}/**/__pycache__")]:
        shutil.rmtree(cache)
    options = ["-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    find = [uv, "python", "find", "--no-python-downloads", agent_tree.PYTHON]
    found = subprocess.run(find, capture_output=True, text=True, check=False)
    if found.returncode == 0:
        within = [
            "-j",
            "2",
            "-s",
            str(root),
            "-p",
            "/",
            *(str(root / folder) for folder in folders),
        ]
        command = [found.stdout.strip(), *options, *within]
    else:
        python = f"/usr/bin/python{agent_tree.PYTHON}"
        command = ["chroot", str(root), python, *options, *(f"/{folder}" for folder in folders)]
    progress.run(
        "compile Python",
        command,
        environment={"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"},
        remedy="Is the interpreter whole?",
    )


def _is_there(root: Path, unit: str) -> bool:
    folders = ("usr/lib/systemd/system", "etc/systemd/system")
    return any((root / folder / unit).exists() for folder in folders)
