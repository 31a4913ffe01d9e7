import importlib.util
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.health.base import Level, Patient
from agent.health.checks.memory import check_documents


async def test_no_folder_is_no_trouble(patient: Patient, tmp_path: Path) -> None:
    assert (await check_documents(replace(patient, documents=None))).level is Level.OK
    found = await check_documents(replace(patient, documents=tmp_path / "none"))
    assert found.level is Level.OK
    assert "put datasheets and notes into" in found.sentence


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "papers" / "deep").mkdir(parents=True)
    (tmp_path / "papers" / "notes.md").write_text("notes")
    (tmp_path / "papers" / "deep" / "sheet.PDF").write_bytes(b"%PDF-1.4")
    return tmp_path / "papers"


async def test_files_are_counted(patient: Patient, folder: Path) -> None:
    found = await check_documents(replace(patient, documents=folder))
    assert (found.level, found.sentence) == (Level.OK, f"2 files in {folder}")


async def test_a_pdf_without_its_reader_is_told_with_what_to_install(
    patient: Patient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", {}.get)
    found = await check_documents(replace(patient, documents=folder))
    assert found.level is Level.WARNING
    assert "--extra documents" in found.sentence
