"""A PostgreSQL server for readings."""

from collections.abc import Iterator

import pytest

from tests.fakes.postgres import DEBIAN, PostgresServer, unavailable_reason
from tests.waits import PATIENCE_S


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept is looked at, not how long it takes on a busy machine."""
    for limit in ("CALL_TIMEOUT_S", "STATEMENT_TIMEOUT_S", "SILENCE_TIMEOUT_S"):
        monkeypatch.setattr(f"agent.storage.postgres.connection.{limit}", PATIENCE_S)


@pytest.fixture(scope="session")
def debian_server() -> Iterator[PostgresServer]:
    if reason := unavailable_reason(DEBIAN):
        pytest.skip(reason)
    server = PostgresServer(DEBIAN)
    server.start()
    yield server
    server.remove()
