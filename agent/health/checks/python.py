"""Is this a Python that Barnacle runs on, and are the optional parts there?"""

import importlib.util
import platform
import sys
from pathlib import Path

from agent.health.base import Finding, Patient

_OLDEST = (3, 11)
_EXTRAS = {"embeddings": ("numpy", "onnxruntime", "tokenizers")}
_EXTRAS_OF_A_PI = {"pi": ("gpiozero", "lgpio", "smbus2")}
# Only a Raspberry Pi names itself there
_MODEL_FILE = Path("/proc/device-tree/model")


async def check(_: Patient) -> Finding:
    version = platform.python_version()
    if sys.version_info < _OLDEST:
        return Finding.failed(f"Python {version} is too old: 3.11 or newer is needed")
    extras = {**_EXTRAS, **(_EXTRAS_OF_A_PI if _on_a_pi() else {})}
    missing = [extra for extra, modules in extras.items() if not all(map(_is_there, modules))]
    if missing:
        parts = ",".join(missing)
        return Finding.warning(
            f"Python {version} lacks optional parts: run `.venv/bin/pip install '.[{parts}]'` "
            "in the checkout"
        )
    return Finding.ok(f"Python {version} with every optional part that is of use here")


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _on_a_pi() -> bool:
    try:
        return "Raspberry Pi" in _MODEL_FILE.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
