import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.tools.mcp.approvals import ApprovedTool, ApprovedTools
from agent.tools.mcp.offer import ToolOffer

SCHEMA: dict[str, object] = {"type": "object", "properties": {"ort": {"description": "Köln"}}}
FORECAST = ToolOffer("garden", "forecast", "mcp_garden_forecast", "Tell it.", SCHEMA, "a" * 64)
OTHER = ToolOffer("shed", "open", "mcp_shed_open", "Open it.", SCHEMA, "b" * 64)


def test_what_is_approved_is_kept_for_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "mcp" / "approved.json"
    assert ApprovedTools(path).every() == ()
    assert not path.parent.exists()
    ApprovedTools(path).approve([FORECAST, OTHER])
    assert ApprovedTools(path).every() == (ApprovedTool(FORECAST), ApprovedTool(OTHER))
    assert ApprovedTools(path).of("shed") == {"open": ApprovedTool(OTHER)}
    assert "Köln" in path.read_text()


def test_an_approval_of_an_earlier_version_counts_on_but_for_no_always(tmp_path: Path) -> None:
    path = tmp_path / "approved.json"
    ApprovedTools(path).approve([replace(FORECAST, repeats=True), OTHER])
    assert [pin.offer.repeats for pin in ApprovedTools(path).every()] == [True, False]
    content = json.loads(path.read_text())
    del content["_default"]["1"]["repeats"]
    path.write_text(json.dumps(content))
    assert ApprovedTools(path).every() == (ApprovedTool(FORECAST), ApprovedTool(OTHER))


def test_it_is_the_same_until_another_program_changes_it(tmp_path: Path) -> None:
    pins = ApprovedTools(tmp_path / "approved.json")
    pins.approve([FORECAST])
    assert pins.every() is pins.every()
    ApprovedTools(tmp_path / "approved.json").approve([OTHER])
    assert len(pins.every()) == 2
    (tmp_path / "approved.json").unlink()
    assert pins.every() == ()


def test_what_is_held_back_counts_again_when_it_is_approved_again(tmp_path: Path) -> None:
    pins = ApprovedTools(tmp_path / "approved.json")
    pins.approve([FORECAST, OTHER])
    pins.hold([ApprovedTool(FORECAST)])
    assert [pin.is_held for pin in ApprovedTools(tmp_path / "approved.json").every()] == [
        True,
        False,
    ]
    pins.approve([FORECAST])
    assert not any(pin.is_held for pin in pins.every())
    assert len(pins.every()) == 2


def test_a_tool_or_all_of_a_server_are_taken_back(tmp_path: Path) -> None:
    pins = ApprovedTools(tmp_path / "approved.json")
    assert pins.revoke("garden") == 0
    pins.approve([FORECAST, OTHER])
    assert (pins.revoke("garden", "other"), pins.revoke("garden", "forecast")) == (0, 1)
    assert pins.revoke("shed") == 1
    assert pins.every() == ()


@pytest.mark.parametrize(
    "slip",
    [
        {"digest": None},
        {"held": "no"},
        {"schema": "{"},
        {"schema": "[]"},
        {"schema": "{}"},
        {"schema": '{"properties": {"a": true}}'},
        {"schema": "[" * 9999},
    ],
)
def test_a_slip_of_whoever_edits_the_file_approves_nothing(
    tmp_path: Path, slip: dict[str, object]
) -> None:
    path = tmp_path / "approved.json"
    ApprovedTools(path).approve([FORECAST, OTHER])
    content = json.loads(path.read_text())
    content["_default"]["1"] |= slip
    path.write_text(json.dumps(content))
    assert ApprovedTools(path).every() == (ApprovedTool(OTHER),)


def test_a_word_that_is_missing_approves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "approved.json"
    ApprovedTools(path).approve([FORECAST, OTHER])
    content = json.loads(path.read_text())
    del content["_default"]["1"]["digest"]
    path.write_text(json.dumps(content))
    assert ApprovedTools(path).every() == (ApprovedTool(OTHER),)
