import importlib.util

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import machine


async def test_this_python_is_new_enough(patient: Patient) -> None:
    assert (await machine.check_python(patient)).level is not Level.FAILED


async def test_an_old_python_is_failed(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_OLDEST", (99, 0))
    assert (await machine.check_python(patient)).level is Level.FAILED


async def test_a_missing_extra_is_named_with_its_remedy(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "tokenizers" else object()
    )
    found = await machine.check_python(patient)
    assert found.level is Level.WARNING
    assert "'.[embeddings]'" in found.sentence
