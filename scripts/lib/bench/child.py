"""A program that is run to its end, with what it took."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_KB = 1024
# A process counts the memory of the one that started it as its own, so a small one starts it. What
# takes less than that, 9 MB, is shown as if it took as much
_STARTER = """
import json, os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
told = [os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss]
sys.stderr.write("\\n" + json.dumps(told))
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time and largest memory of a process."""

    cpu_s: float
    most_mb: float


def run_measured(
    argv: Sequence[str], given: bytes, environ: Mapping[str, str] | None = None
) -> tuple[bytes, Cost]:
    """Return what a program wrote, and its cost; raise CalledProcessError if it failed."""
    with tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        starting = (sys.executable, "-I", "-S", "-c", _STARTER, *argv)
        done = subprocess.run(starting, stdin=source, capture_output=True, check=True, env=environ)
    status, cpu_s, most_kb = json.loads(done.stderr.splitlines()[-1])
    if status:
        raise subprocess.CalledProcessError(status, argv)
    return done.stdout, Cost(cpu_s, most_kb / _KB)
