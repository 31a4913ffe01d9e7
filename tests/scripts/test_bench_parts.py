"""The benchmark of parts: which are measured, that each is one, and what its table calls missed."""

from pathlib import Path

import pytest

from agent.config import load
from agent.settings import Settings
from scripts.lib.bench.parts import Found, chosen, configuration
from scripts.lib.bench.parts_list import NOTHING, PARTS, Part, Place


@pytest.mark.parametrize("part", PARTS, ids=[part.slug for part in PARTS])
def test_each_part_is_a_configuration_that_the_agent_takes(tmp_path: Path, part: Part) -> None:
    config = tmp_path / "barnacle.toml"
    config.write_text(configuration(part, Place(tmp_path, 1883, 8475)))
    config.chmod(0o600)
    load(config, Settings)


def test_a_part_is_chosen_with_what_it_stands_on() -> None:
    assert [part.name for part in chosen("mcp")] == [
        NOTHING.name,
        "[gateway]",
        'assistants = ["mcp"]',
    ]
    assert chosen("") == list(PARTS)


@pytest.mark.parametrize(("now_kib", "held"), [(44_000, True), (44_900, False), (30_000, True)])
def test_an_agent_that_takes_a_megabyte_more_has_missed(now_kib: int, *, held: bool) -> None:
    found = Found()
    found.before += [43_800, 43_000, 43_900]
    found.idle[NOTHING.name].append(now_kib)
    [row] = found.rows([NOTHING], "v1")
    assert row.held is held
