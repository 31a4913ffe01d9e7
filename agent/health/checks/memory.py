"""Checks of the memory: the backend, the embedding model and the documents."""

import hashlib
import importlib.util
import math
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec

from agent.errors import EmbedderUnavailable, MemoryUnavailable
from agent.health.base import Finding, MemoryStore, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.memory.base import MemoryStats
from agent.text.config_hints import install_hint

# Enough to know whether there are any; counting a whole library is not a check
_MOST_LOOKED_AT = 5000


async def check_documents(patient: Patient) -> Finding:
    folder = patient.documents
    if folder is None:
        return Finding.ok("no folder configured")
    return await in_daemon_thread(lambda: _documents_finding(folder))


def _documents_finding(folder: Path) -> Finding:
    if not folder.is_dir():
        return Finding.ok(f"no documents: put datasheets and notes into {folder}, then restart")
    files = [path for path in islice(folder.rglob("*"), _MOST_LOOKED_AT) if path.is_file()]
    has_pdf = any(path.suffix.lower() == ".pdf" for path in files)
    if has_pdf and importlib.util.find_spec("pypdf") is None:
        return Finding.warning(
            f"cannot read the PDF files in {folder}: pypdf is missing; {install_hint('documents')}"
        )
    return Finding.ok(f"{len(files)} files in {folder}")


_ABOUT = "model.json"
# The graph, of which the mapped one is used where there is one
_GRAPHS = ("model.ort", "model.onnx")
_TOKENIZER = "tokenizer.json"
# Of what describes a model
_MAX_ABOUT_BYTES = 64 * 1024


class _About(msgspec.Struct, frozen=True):
    """Checksums beside the model's files; a model of one's own may lack them."""

    sha256: dict[str, str] = msgspec.field(default_factory=dict)


async def check_model(patient: Patient) -> Finding:
    """Name the damaged file of the model; another check says if the model works."""
    folder = patient.model_dir
    if folder is None:
        return Finding.ok("no local model in use")
    return await in_daemon_thread(lambda: _finding(folder))


def _finding(folder: Path) -> Finding:
    graph = next((name for name in _GRAPHS if (folder / name).exists()), None)
    if graph is None:
        return Finding.ok(f"no model in {folder}")
    files = (graph, _TOKENIZER)
    if missing := [name for name in files if not (folder / name).is_file()]:
        return Finding.warning(f"files missing in {folder}: {' and '.join(missing)}; {_REMEDY}")
    sizes = ", ".join(f"{name} {(folder / name).stat().st_size // 1000} kB" for name in files)
    try:
        with (folder / _ABOUT).open("rb") as file:
            about = msgspec.json.decode(file.read(_MAX_ABOUT_BYTES), type=_About)
    except (OSError, msgspec.DecodeError, UnicodeError):
        return Finding.ok(f"{sizes}; no checksums to compare with")
    try:
        damaged = [name for name in files if _is_another(folder / name, about)]
    except OSError as err:
        return Finding.failed(f"cannot read {folder}: {err.strerror}")
    if damaged:
        return Finding.failed(f"{' and '.join(damaged)} in {folder} is damaged: {_REMEDY}")
    return Finding.ok(f"{sizes}, checksums correct" if about.sha256 else sizes)


def _is_another(path: Path, about: _About) -> bool:
    wanted = about.sha256.get(path.name)
    if wanted is None:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != wanted


# Two sentences that no model may take for the same
_PROBES = ("turn the light on", "my sister is called Mei")
# int8 weights and 32-bit sums are not exact
_LENGTH_TOLERANCE = 0.01
_REMEDY = "run scripts/setup to rebuild it"


async def check_embeddings(patient: Patient) -> Finding:
    folder = patient.model_dir
    if folder is None and not patient.embeds_remotely:
        return Finding.ok("switched off: memories and phrases are matched by words only")
    try:
        vectors = (await patient.embedder.embed(_PROBES)).tolist()
    except EmbedderUnavailable as err:
        return Finding.warning(f"memories and phrases are matched by words only: {err}")
    remedy = "use another service" if patient.embeds_remotely else _REMEDY
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        return Finding.failed(f"the embedding model in {folder} returns no vectors: {remedy}")
    if not all(_is_unit(vector) for vector in vectors) or vectors[0] == vectors[1]:
        return Finding.failed(f"the embedding model in {folder} returns wrong vectors: {remedy}")
    where = "" if patient.embeds_remotely else f" in {folder}"
    return Finding.ok(f"{patient.embedder.model_id}{where} works")


def _is_unit(vector: Sequence[float]) -> bool:
    return abs(math.hypot(*vector) - 1) < _LENGTH_TOLERANCE


# Details of a store that somebody has to do something about
_TROUBLES = ("damage", "advice")


async def check_memory(patient: Patient) -> Finding:
    if patient.find_store is None:
        return Finding.ok("no memory backend is known")
    store = patient.find_store()
    found = await _reached(store)
    if isinstance(found, MemoryUnavailable):
        return Finding.failed(f"cannot use {store.backend} ({store.where}): {found}")
    troubles = [found.details[name] for name in _TROUBLES if name in found.details] if found else []
    if trouble := "; ".join(filter(None, (store.trouble, *troubles))):
        return Finding.warning(trouble)
    if store.backend == "none":
        return Finding.ok("switched off: nothing is remembered")
    if found is None:
        return Finding.ok(f"{store.backend} ({store.where})")
    extras = ", ".join(f"{name} {said}" for name, said in found.details.items())
    return Finding.ok(f"{found.count} memories in {store.backend} ({store.where}): {extras}")


async def _reached(store: MemoryStore) -> MemoryStats | MemoryUnavailable | None:
    """Its numbers, or why there are none; None where it is not opened."""
    if store.open is None:
        return None
    memory = store.open()
    try:
        return await memory.stats()
    except MemoryUnavailable as err:
        return err
    finally:
        await memory.aclose()
