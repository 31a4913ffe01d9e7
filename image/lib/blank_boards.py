"""MicroPython for blank boards on the card: `image/build --board NAME=FILE`.

Each file is looked at before the work begins, and lies on the card with its hash and its licence.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from agent.blank.dfu import DFU, FOLDER, INDEX, BadDfu, read_dfu

ROOT = Path(__file__).resolve().parents[2]
HELP = (
    "MicroPython for a blank board, as FILE.dfu; may be repeated. NAME is one of "
    "`scripts/flash`. Each comes from the page of its board at micropython.org/download: "
    "WEACT_F411_BLACKPILL, PYBV11, NUCLEO_F411RE, NUCLEO_WB55 and so on, 1.24 or newer; a Nucleo "
    "has its boot loader on USB only where a plug is wired to PA11 and PA12. The file's sha256 and "
    "MicroPython's licence go onto the card with it"
)
_LICENCE = ROOT / "image/micropython-licence.txt"
_SIMULATED = "simulated"


def checked(wanted: Sequence[str]) -> dict[str, Path]:
    """Return the files by board.

    Raises:
        OSError: one is not for a board of ours, or no DFU file.
    """
    known = {path.stem for path in (ROOT / "firmware/boards").glob("*.py")} - {_SIMULATED}
    found = {}
    for one in wanted:
        name, _, file = one.partition("=")
        if name not in known or not file:
            raise OSError(f"--board {one}: it is NAME=FILE, a name is {', '.join(sorted(known))}")
        try:
            read_dfu(Path(file).read_bytes())
        except BadDfu as err:
            raise OSError(f"--board {one}: {err}") from err
        found[name] = Path(file)
    return found


def put(files: dict[str, Path], root: Path) -> list[str]:
    """Lay the files into the system at `root`; return a line about each."""
    folder = root / FOLDER.relative_to("/")
    folder.mkdir(parents=True)
    index = {}
    for name, path in sorted(files.items()):
        content = path.read_bytes()
        index[name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        (folder / f"{name}{DFU}").write_bytes(content)
    (folder / INDEX).write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")
    if files:
        shutil.copyfile(_LICENCE, folder / "LICENCE.txt")
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return [f"{name}: {one['bytes']} bytes, sha256 {one['sha256']}" for name, one in index.items()]
