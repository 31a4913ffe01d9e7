"""Is the embedding model there, and does it give numbers that mean something?"""

import math
from collections.abc import Sequence

from agent.errors import EmbedderUnavailable
from agent.health.base import Finding, Patient

# Two sentences that no model may take for the same
_PROBES = ("turn the light on", "my sister is called Mei")
# int8 weights and 32-bit sums are not exact
_LENGTH_TOLERANCE = 0.01
_REMEDY = "run scripts/setup to build it again"


async def check(patient: Patient) -> Finding:
    folder = patient.model_dir
    if folder is None and not patient.embeds_remotely:
        return Finding.ok("switched off: words alone decide what is recalled and meant")
    try:
        vectors = (await patient.embedder.embed(_PROBES)).tolist()
    except EmbedderUnavailable as err:
        return Finding.warning(f"words alone decide what is recalled and meant: {err}")
    remedy = "use another service" if patient.embeds_remotely else _REMEDY
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        return Finding.failed(f"the embedding model in {folder} gives no numbers: {remedy}")
    if not all(_is_unit(vector) for vector in vectors) or vectors[0] == vectors[1]:
        return Finding.failed(f"the embedding model in {folder} gives nonsense: {remedy}")
    where = "" if patient.embeds_remotely else f" in {folder}"
    return Finding.ok(f"{patient.embedder.model_id}{where} works")


def _is_unit(vector: Sequence[float]) -> bool:
    return abs(math.hypot(*vector) - 1) < _LENGTH_TOLERANCE
