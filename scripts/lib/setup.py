"""Makes what the commands need, in `.venv/` and `.barnacle/`; does nothing that is done already.

Safe to start twice at once and to interrupt anywhere.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.lib import stamps
from scripts.lib.environment import Environment
from scripts.lib.progress import Progress, StepFailed, say

ROOT = Path(__file__).resolve().parents[2]
_SCRIPTS = ROOT / "scripts"
_PIECES = _SCRIPTS / "lib"
_MADE = ROOT / ".barnacle"
RUNTIME_LOCK, DEV_LOCK, MODEL_LOCK, _STUBS_LOCK = (
    _SCRIPTS / f"requirements{part}.lock" for part in ("", "-dev", "-model", "-stubs")
)
MODEL = _MADE / "model"
MICROPYTHON = _MADE / "micropython"
_MICROPYTHON_REMEDY = (
    "MicroPython runs the simulated board. It comes from the Debian archive that /etc/apt names;\n"
    "or set BARNACLE_MICROPYTHON to a MicroPython 1.24 or newer (unix port) of your own."
)


@dataclass(frozen=True, slots=True)
class Step:
    """Something to make: `key` is the hash of all it is made from, `stamp` says it was made."""

    stamp: Path
    key: str
    make: Callable[[], None]

    @property
    def is_done(self) -> bool:
        return stamps.is_current(self.stamp, self.key)


def main(arguments: list[str]) -> int:
    """Usage: scripts/setup [--dev]; --dev adds what scripts/check and scripts/test need."""
    if arguments not in ([], ["--dev"]):
        print(main.__doc__)
        return 0 if arguments[0] in {"-h", "--help"} else 2
    return ensure(dev=bool(arguments))


def ensure(*, dev: bool) -> int:
    """Make what is missing; returns an exit status and has told the person why."""
    signal.signal(signal.SIGTERM, _leave)
    try:
        if not all(step.is_done for step in _steps(Environment(ROOT, Progress(_MADE)), dev=dev)):
            _make_missing(dev=dev)
    except StepFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next start goes on from here")
        return 130
    except OSError as failure:
        say(f"{failure}")
        return 1
    return 0


def _make_missing(*, dev: bool) -> None:
    def say_waiting() -> None:
        say("another start of this checkout is being set up; waiting for it")

    with stamps.exclusive(_MADE / "setup.lock", say_waiting) as lock:
        environment = Environment(ROOT, Progress(_MADE / "logs", kept_open=[lock]))
        if not environment.is_whole:
            # Its stamps go with it
            shutil.rmtree(environment.folder, ignore_errors=True)
        for step in _steps(environment, dev=dev):
            if not step.is_done:
                step.stamp.unlink(missing_ok=True)
                step.make()
                stamps.write(step.stamp, step.key)


def _steps(environment: Environment, *, dev: bool) -> list[Step]:
    folder = environment.folder
    recipe = _PIECES / "environment.py"
    interpreter = f"{sys.version} {sys.executable} {ROOT}"
    steps = [
        # Another lock or another Python means another environment, never a repaired one
        Step(
            folder / ".made",
            stamps.key_of(interpreter, recipe, RUNTIME_LOCK, DEV_LOCK),
            environment.create,
        ),
        Step(
            folder / ".installed",
            stamps.key_of(RUNTIME_LOCK),
            lambda: environment.install("install dependencies", RUNTIME_LOCK),
        ),
        Step(
            folder / ".linked",
            stamps.key_of(recipe, ROOT / "pyproject.toml"),
            environment.link_package,
        ),
        Step(
            MODEL / ".built",
            model_key(),
            lambda: environment.build_model(MODEL, MODEL_LOCK),
        ),
        Step(
            MICROPYTHON / ".unpacked",
            stamps.key_of(
                _PIECES / "micropython.py",
                _PIECES / "debian.py",
                os.environ.get("BARNACLE_MICROPYTHON", ""),
            ),
            lambda: environment.run_piece(
                "fetch MicroPython", "micropython", MICROPYTHON, _MICROPYTHON_REMEDY
            ),
        ),
    ]
    return [*steps, *_dev_steps(environment)] if dev else steps


def _dev_steps(environment: Environment) -> list[Step]:
    typings = environment.folder / "typings"
    return [
        Step(
            environment.folder / ".dev-installed",
            stamps.key_of(DEV_LOCK),
            lambda: environment.install("install development tools", DEV_LOCK),
        ),
        Step(
            typings / ".installed",
            stamps.key_of(_STUBS_LOCK),
            lambda: environment.install("install MicroPython stubs", _STUBS_LOCK, typings),
        ),
    ]


def model_key() -> str:
    """Of all that the embedding model is made from."""
    pieces = sorted((_PIECES / "embedding").glob("*.py"))
    return stamps.key_of(MODEL_LOCK, _SCRIPTS / "embedding-model", *pieces)


def _leave(*_signal: object) -> None:
    # As Ctrl-C: the running step is ended, its stamp is not written
    raise KeyboardInterrupt
