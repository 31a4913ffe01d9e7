"""The benchmark of parts: what is missed is told, and a run prints its table."""

import pytest

from scripts.lib.bench import extras
from scripts.lib.bench.extras import Taken


def taken(used_mb: float, left: int = 0) -> Taken:
    return Taken(0.4, 30.0, used_mb, 0.0, 0.0, left)


def test_an_agent_that_has_grown_is_told() -> None:
    assert extras._unchanged(taken(40.9), taken(40.0)).held
    assert extras._unchanged(taken(41.1), taken(40.0)).held is False


def test_a_module_that_is_loaded_for_nothing_is_told() -> None:
    assert extras._modules_row([]).held
    assert extras._modules_row(["agent.channels.voice"]).held is False


def test_a_process_that_stays_is_told() -> None:
    [part, *_] = extras.PARTS
    assert extras._row(part, taken(40.0), taken(40.0)).held
    assert extras._row(part, taken(40.0, left=1), taken(40.0)).held is False


def test_a_small_run_prints_its_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "_SETTLE_S", 0.0)
    assert extras.main(["--starts", "1", "--before", "", "identity"]) == 0
    table = capsys.readouterr().out
    assert "their modules after a turn" in table
    assert "| AIEOS identity, one answer" in table
    assert "browser" not in table
