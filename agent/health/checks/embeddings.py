"""Is the embedding model there, and does it give numbers that mean something?"""

import math
from collections.abc import Sequence

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread

# Two sentences that no model may take for the same
_PROBES = ("turn the light on", "my sister is called Mei")
# int8 weights and 32-bit sums are not exact
_LENGTH_TOLERANCE = 0.01
_REMEDY = "run scripts/setup to build it again"


async def check(patient: Patient) -> Finding:
    """A model that cannot be loaded is raised and is the doctor's to report."""
    folder = patient.model_dir
    if folder is None:
        return Finding.ok("switched off: words alone decide what is recalled and meant")
    if not await in_daemon_thread(folder.is_dir) or not patient.embedder.dimensions:
        return Finding.warning(
            f"no embedding model in {folder}: words alone decide what is recalled and meant"
        )
    vectors = (await patient.embedder.embed(_PROBES)).tolist()
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        return Finding.failed(f"the embedding model in {folder} gives no numbers: {_REMEDY}")
    if not all(_is_unit(vector) for vector in vectors) or vectors[0] == vectors[1]:
        return Finding.failed(f"the embedding model in {folder} gives nonsense: {_REMEDY}")
    return Finding.ok(f"{patient.embedder.model_id} in {folder} works")


def _is_unit(vector: Sequence[float]) -> bool:
    return abs(math.hypot(*vector) - 1) < _LENGTH_TOLERANCE
