import math
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from agent.embeddings.base import Embedder
from agent.health.base import Level, Patient
from agent.health.checks.memory import check_embeddings
from tests.fakes.embedders import AbsentEmbedder, DamagedEmbedder, FixedEmbedder


async def test_a_model_that_is_switched_off_is_not_missed(patient: Patient) -> None:
    found = await check_embeddings(replace(patient, model_dir=None, embedder=AbsentEmbedder()))
    assert found.level is Level.OK


@pytest.mark.parametrize("embedder", [AbsentEmbedder(), DamagedEmbedder()])
async def test_a_model_that_cannot_be_used_is_a_warning_with_its_remedy(
    patient: Patient, embedder: Embedder
) -> None:
    found = await check_embeddings(replace(patient, embedder=embedder))
    assert found.level is Level.WARNING
    assert "scripts/" in found.sentence


async def test_different_unit_vectors_are_fine(patient: Patient) -> None:
    found = await check_embeddings(replace(patient, embedder=FixedEmbedder([[1, 0], [0.6, 0.8]])))
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
    patient: Patient, rows: Sequence[Sequence[float]]
) -> None:
    found = await check_embeddings(replace(patient, embedder=FixedEmbedder(rows)))
    assert found.level is Level.FAILED
    assert "scripts/setup" in found.sentence
