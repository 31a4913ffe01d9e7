"""The browser of this machine: where it is, and whether this machine can bear it."""

from pathlib import Path

from agent.machine.readings import Readings
from agent.security.sandbox.choice import SandboxChoice, choose

# Where systemd/barnacle-browser.socket listens
SOCKET = Path("/run/barnacle-browser/socket")
# The programs themselves: what is in /usr/bin may be a script that reads more than it needs. The
# first has no windows and takes half the memory
PROGRAMS = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/usr/lib/chromium-browser/chromium",
)
# A page takes 200 MB and more, beside the agent and the system
MIN_TOTAL_MB = 800
MIN_FREE_MB = 350
_SERVICE = "; for the service run `sudo systemctl enable --now barnacle-browser.socket`"
MISSING = "no browser found: run `sudo apt install chromium-headless-shell` (or chromium)"


def find_program(chosen: str = "", programs: tuple[str, ...] = PROGRAMS) -> str:
    """Return the browser's program; "" if there is none."""
    wanted = (chosen,) if chosen else programs
    return next((one for one in wanted if Path(one).is_file()), "")


def trouble_with_browser(chosen: str, readings: Readings) -> str:
    """Return the reason why no browser can be used on this machine; "" if one can."""
    total_mb = readings.memory_mb().get("MemTotal", 0)
    if total_mb < MIN_TOTAL_MB:
        return f"a browser needs {MIN_TOTAL_MB} MB of memory, and this machine has {total_mb} MB"
    if not find_program(chosen):
        return f"{chosen} not found (browser.program)" if chosen else MISSING
    return ""


def browser_sandbox(socket: Path = SOCKET) -> SandboxChoice:
    """Return the sandbox for it; blocking, for a thread."""
    found = choose(Path("/"), socket)
    return found if found.sandbox is not None else SandboxChoice(None, found.trouble + _SERVICE)
