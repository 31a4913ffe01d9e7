"""The external `lucid` program as a script: it speaks its format, or misbehaves in its own way."""

import json
import stat
import sys
from pathlib import Path

# Remembers what it is told in a file beside it and shows what shares a word with the question
_WORKING = """
import json, sys
from pathlib import Path
kept = Path(sys.argv[0]).with_suffix(".json")
told = json.loads(kept.read_text()) if kept.exists() else []
command, text, *options = sys.argv[1:]
if command == "store":
    kind = next((one.partition("=")[2] for one in options if one.startswith("--type=")), "learning")
    kept.write_text(json.dumps([*told, [kind, text]]))
    print(json.dumps({"success": True, "id": "0001"}))
elif command == "context":
    words = set(text.lower().strip("?").split())
    found = [one for one in told if words & set(one[1].lower().split())]
    if found:
        print("<lucid-context>")
        print("You have been here before.")
        for kind, content in found:
            print(f"- [{kind}] {content[:200]}")
        print("</lucid-context>")
"""
_FAULTS = {
    "hangs": "import time\ntime.sleep(60)",
    "dies": "import sys\nprint('<lucid-context>', flush=True)\nsys.exit(3)",
    "prints garbage": "import os\nos.write(1, bytes(range(256)) * 8)",
    "prints megabytes": "while True:\n    print('<lucid-context>' * 1000)",
    "leaves its output open": (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    ),
}
FAULTS = tuple(_FAULTS)


def working_program(folder: Path) -> Path:
    """One that works."""
    return _script(folder, _WORKING)


def misbehaving_program(folder: Path, fault: str) -> Path:
    """One of `FAULTS`; each start leaves a line in the file beside it."""
    count = "import sys\nopen(sys.argv[0] + '.starts', 'a').write('.')\n"
    return _script(folder, count + _FAULTS[fault])


def starts(program: Path) -> int:
    """How often a misbehaving one was started."""
    return len(Path(f"{program}.starts").read_text())


def told(program: Path) -> list[tuple[str, str]]:
    """What a working one was told, as kind and content."""
    kept = program.with_suffix(".json")
    return [(kind, text) for kind, text in json.loads(kept.read_text())] if kept.exists() else []


def _script(folder: Path, code: str) -> Path:
    path = folder / "lucid"
    # Isolated: it starts in a tenth of the time
    path.write_text(f"#!{sys.executable} -IS\n{code}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
