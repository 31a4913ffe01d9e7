import hashlib
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.health.base import Level, Patient
from agent.health.checks.memory import check_model

FILES = {"model.onnx": b"graph", "tokenizer.json": b"{}"}


@pytest.fixture
def folder(patient: Patient) -> Path:
    assert patient.model_dir is not None
    patient.model_dir.mkdir(parents=True)
    for name, content in FILES.items():
        (patient.model_dir / name).write_bytes(content)
    return patient.model_dir


def describe(folder: Path) -> None:
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    (folder / "model.json").write_text(json.dumps({"sha256": sums, "dimensions": 3}))


async def test_no_model_is_no_trouble(patient: Patient) -> None:
    assert (await check_model(replace(patient, model_dir=None))).level is Level.OK


async def test_what_it_means_that_there_is_none_another_check_says(patient: Patient) -> None:
    assert (await check_model(patient)).level is Level.OK


async def test_missing_files_are_named(patient: Patient, folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    found = await check_model(patient)
    assert found.level is Level.WARNING
    assert "tokenizer.json;" in found.sentence


async def test_files_as_they_were_built_are_fine(patient: Patient, folder: Path) -> None:
    describe(folder)
    found = await check_model(patient)
    assert found.level is Level.OK
    assert "checksums correct" in found.sentence


async def test_one_changed_byte_is_found(patient: Patient, folder: Path) -> None:
    describe(folder)
    (folder / "model.onnx").write_bytes(b"grapH")
    found = await check_model(patient)
    assert found.level is Level.FAILED
    assert found.sentence.startswith("model.onnx in ")


@pytest.mark.parametrize("about", [None, "", "[]", "{}", '{"sha256": 3}', "\udce4"])
async def test_a_model_of_ones_own_need_not_be_described(
    patient: Patient, folder: Path, about: str | None
) -> None:
    if about is not None:
        (folder / "model.json").write_text(about, errors="surrogateescape")
    assert (await check_model(patient)).level is Level.OK
