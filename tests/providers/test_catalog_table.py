from pathlib import Path

import pytest

import agent.providers
from agent.providers import catalog
from agent.providers.create import _wire
from agent.providers.settings import ProviderSettings

_README = Path(agent.providers.__file__).with_name("README.md")
_COLUMNS = ("provider", "wire", "tools", "streaming", "vision", "caching", "verified how")
_CUSTOM = ("custom:URL", "anthropic-custom:URL")
# The services that the oracles ask, and those that are whatever the same wire leads to
_ASKED = {"openai", "openai-responses", "anthropic", "gemini", "ollama", *_CUSTOM}


def table() -> dict[str, dict[str, str]]:
    """The rows by their provider."""
    lines = [line for line in _README.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    # It is the last of the guide
    cells = cells[cells.index([*_COLUMNS]) :]
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in cells[2:]]
    return {row["provider"].strip("`"): row for row in rows}


def test_the_table_has_every_service_of_the_catalog_once() -> None:
    names = [service.name for service in catalog.every()]
    assert list(table()) == [*names, *_CUSTOM]


@pytest.mark.parametrize("name", table())
def test_a_row_says_what_the_catalog_and_the_wire_say(name: str) -> None:
    row, service = table()[name], catalog.find(name)
    can = _wire(service.wire, ProviderSettings()).capabilities(service.model or "some-model")
    assert row["wire"] == service.wire.value
    assert (row["tools"] == "native") is (can.native_tools and service.takes_tools)
    assert (row["streaming"] in {"SSE", "NDJSON"}) is can.streaming
    # What a wire is sure of; the table may know of models that can more
    assert row["vision"] in ({"yes", "by model"} if can.vision else {"no", "by model"})
    assert row["caching"] != "no" or not can.caching


def test_nothing_is_called_verified_that_nobody_asks() -> None:
    for name, row in table().items():
        how = row["verified how"].split(", ")
        assert how[0] == "contract"
        assert (how[1:] == ["client", "aimock"]) is (name in _ASKED), name
        assert ("documentation" in how) is (name not in _ASKED), name
