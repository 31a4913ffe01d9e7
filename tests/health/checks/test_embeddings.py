import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent.errors import EmbedderUnavailable
from agent.health.base import Level, Patient
from agent.health.checks.embeddings import check
from tests.fakes.embedders import AbsentEmbedder, DamagedEmbedder, FixedEmbedder


@pytest.fixture
def with_model(patient: Patient) -> Patient:
    assert patient.model_dir is not None
    patient.model_dir.mkdir(parents=True)
    return patient


async def test_a_model_that_is_switched_off_is_not_missed(patient: Patient) -> None:
    found = await check(replace(patient, model_dir=None, embedder=AbsentEmbedder()))
    assert found.level is Level.OK


async def test_no_folder_is_a_warning(patient: Patient) -> None:
    embedder = FixedEmbedder([[1, 0], [0, 1]])
    found = await check(replace(patient, embedder=embedder))
    assert found.level is Level.WARNING
    assert str(patient.model_dir) in found.sentence


async def test_no_model_in_the_folder_is_a_warning(with_model: Patient) -> None:
    found = await check(replace(with_model, embedder=AbsentEmbedder()))
    assert found.level is Level.WARNING


async def test_different_unit_vectors_are_fine(with_model: Patient) -> None:
    found = await check(replace(with_model, embedder=FixedEmbedder([[1, 0], [0.6, 0.8]])))
    assert found.level is Level.OK


@pytest.mark.parametrize(
    "rows",
    [
        [[math.nan, 0], [0, 1]],
        [[1, 0], [math.inf, 1]],
        [[0, 0], [0, 1]],
        [[1, 0], [1, 0]],
        [[9, 0], [0, 9]],
    ],
)
async def test_vectors_that_mean_nothing_are_failed(
    with_model: Patient, rows: Sequence[Sequence[float]]
) -> None:
    found = await check(replace(with_model, embedder=FixedEmbedder(rows)))
    assert found.level is Level.FAILED
    assert "scripts/setup" in found.sentence


async def test_a_model_that_cannot_be_loaded_says_so_itself(with_model: Patient) -> None:
    with pytest.raises(EmbedderUnavailable, match="damaged"):
        await check(replace(with_model, embedder=DamagedEmbedder()))
