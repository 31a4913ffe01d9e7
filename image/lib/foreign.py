"""Tells this machine's kernel to run programs for arm64 by QEMU, as systemd does where it runs."""

import subprocess
from pathlib import Path

KERNEL = Path("/proc/sys/fs/binfmt_misc")
# Of Debian's package qemu-user-static
RULE = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")


def register(kernel: Path = KERNEL, rule: Path = RULE) -> None:
    """Register QEMU for arm64, unless the kernel knows it.

    Raises:
        OSError: the kernel does not take it; the text says what to do.
    """
    if (kernel / "qemu-aarch64").exists():
        return
    try:
        if not (kernel / "register").exists():
            command = ["mount", "-t", "binfmt_misc", "binfmt_misc", str(kernel)]
            subprocess.run(command, capture_output=True, check=True)
        (kernel / "register").write_text(rule.read_text().strip())
    except (OSError, subprocess.CalledProcessError) as failure:
        raise OSError(
            f"this machine cannot run programs for arm64 ({failure}): in a container, start "
            "`systemctl restart systemd-binfmt` on its host, or run it with --privileged"
        ) from failure
