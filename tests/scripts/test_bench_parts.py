"""The benchmark of parts: which are measured, what is called missed, and what a run prints."""

import asyncio
from pathlib import Path

import pytest

from scripts.lib.bench import parts, parts_agent
from scripts.lib.bench.parts import NOTHING, PARTS
from scripts.lib.bench.parts_agent import Part, Taken


def taken(used_mib: float, left: int = 0) -> Taken:
    return Taken(0.4, 30.0, used_mib, 0.0, 0.0, left)


def test_an_agent_that_has_grown_is_told() -> None:
    assert parts._unchanged(taken(40.9), taken(40.0), "v1").held
    assert parts._unchanged(taken(41.1), taken(40.0), "v1").held is False


def test_a_module_that_is_loaded_for_nothing_is_told() -> None:
    assert parts._modules_row([]).held
    assert parts._modules_row(["agent.channels.voice"]).held is False


def test_a_process_that_stays_is_told() -> None:
    [part, *_] = PARTS
    assert parts._row(part, taken(40.0), taken(40.0)).held
    assert parts._row(part, taken(40.0, left=1), taken(40.0)).held is False


def test_a_part_is_compared_with_the_one_that_it_stands_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def measured(part: Part, _code: Path, _starts: int) -> Taken:
        return taken({"[gateway]": 46.0}.get(part.name, 47.5))

    monkeypatch.setattr(parts, "_median_of", measured)
    [part] = parts.chosen(["mcp"])
    row = asyncio.run(parts._tried(part, 1, {NOTHING.name: taken(40.0)}))
    assert "47.5 MiB (+1.5) used" in row.measured
    assert row.baseline.endswith("with [gateway]")


def test_parts_are_chosen_by_words_of_their_names() -> None:
    assert [part.name for part in parts.chosen(["mcp", "AIEOS"])] == [
        'assistants = ["mcp"], a call of a tool',
        "AIEOS identity, one answer",
    ]
    assert parts.chosen([]) == list(PARTS)


@pytest.mark.parametrize("words", ["identity", "mcp", "wyoming], a conv"])
def test_a_small_run_prints_its_table(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_agent, "_SETTLED_S", 0.0)
    assert parts.main(["--starts", "1", "--since", "", words]) == 0
    table = capsys.readouterr().out
    assert "their modules after a turn" in table
    assert words in table
    assert "not used" not in table
    assert "browser" not in table
