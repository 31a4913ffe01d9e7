"""A card in a folder, and the key that signs its updates."""

from pathlib import Path

import pytest

from tests.fakes.card import Card, make_key


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("keys") / "key.pem")


@pytest.fixture
def card(tmp_path: Path, key: Path) -> Card:
    return Card(tmp_path / "card", key)
