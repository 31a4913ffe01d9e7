"""Is there a folder of datasheets and notes, and can everything in it be read?"""

import importlib.util
from itertools import islice
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.wording import how_to_install

# Enough to know whether there are any; counting a whole library is not a check
_MOST_LOOKED_AT = 5000


async def check(patient: Patient) -> Finding:
    folder = patient.documents
    if folder is None:
        return Finding.ok("none are configured")
    return await in_daemon_thread(lambda: _finding(folder))


def _finding(folder: Path) -> Finding:
    if not folder.is_dir():
        return Finding.ok(f"none: put datasheets and notes into {folder}, then restart")
    files = [path for path in islice(folder.rglob("*"), _MOST_LOOKED_AT) if path.is_file()]
    has_pdf = any(path.suffix.lower() == ".pdf" for path in files)
    if has_pdf and importlib.util.find_spec("pypdf") is None:
        return Finding.warning(
            f"the PDF files in {folder} cannot be read: pypdf is missing; "
            f"{how_to_install('documents')}"
        )
    return Finding.ok(f"{len(files)} files in {folder}")
