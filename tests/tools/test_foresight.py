"""What a result tells of a forecast: to whom, and whether the question has told it already."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.messages import Provenance
from agent.passage import plain
from agent.security.access import Audience, AudienceRole, Circle
from agent.security.shares import Shares
from agent.tools import foresight as foresight_module
from agent.tools.base import Forecast, NoArguments, ToolContext
from agent.tools.foresight import Foresight

PICTURE = Path("home", "pictures", "reading-rehearsal-x-20261123-120000.png")
MARK = f"[IMAGE:pictures/{PICTURE.name}]"
OWNER = ToolContext("c", "owner", Provenance.OWNER)
GUEST = Audience(AudienceRole.GUEST, "guest-1", "Ann")
GROUP = Audience(AudienceRole.OWNER, group="the family")


class Found:
    """Counts how often something is foreseen."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self, _arguments: NoArguments) -> Forecast | None:
        self.times += 1
        return Forecast("Twice.", PICTURE, Provenance.OWNER)


async def told(foresight: Foresight[NoArguments], context: ToolContext) -> object:
    return plain(await foresight.told(NoArguments(), context))


async def test_the_owner_alone_gets_words_and_drawing() -> None:
    assert await told(Foresight(Found()), OWNER) == {"rehearsal": "Twice.", "shown_by": MARK}


async def test_what_the_question_has_shown_is_not_drawn_or_found_out_again() -> None:
    found = Found()
    foresight = Foresight(found)
    await foresight.asked(NoArguments())
    assert await told(foresight, OWNER) == {"rehearsal": "Twice."}
    assert found.times == 1


async def test_an_old_question_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found()
    foresight = Foresight(found)
    await foresight.asked(NoArguments())
    monkeypatch.setattr(foresight_module, "_FRESH_S", 0.0)
    assert await told(foresight, OWNER) == {"rehearsal": "Twice.", "shown_by": MARK}
    assert found.times == 2


async def test_what_takes_too_long_keeps_nothing_from_being_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def find(_arguments: NoArguments) -> Forecast | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(foresight_module, "_LONGEST_S", 0.0)
    assert await told(Foresight(find), OWNER) == {}


def of(audience: Audience, readings: Circle) -> ToolContext:
    shares = Shares(readings=readings)
    return ToolContext("c", audience.person, Provenance.OWNER, audience=audience, shares=shares)


@pytest.mark.parametrize("audience", [GUEST, GROUP])
async def test_readings_that_are_not_everybodys_are_not_told(audience: Audience) -> None:
    found = Found()
    assert await told(Foresight(found), of(audience, Circle.HOUSEHOLD)) == {}
    assert found.times == 0


@pytest.mark.parametrize("audience", [GUEST, GROUP])
async def test_others_are_told_no_file_of_the_owners(audience: Audience) -> None:
    assert await told(Foresight(Found()), of(audience, Circle.EVERYBODY)) == {"rehearsal": "Twice."}


@pytest.mark.parametrize("broken", [ValueError, KeyError])
async def test_a_fault_of_the_forecast_keeps_nothing_from_being_done(
    broken: Callable[[str], Exception],
) -> None:
    async def find(_arguments: NoArguments) -> Forecast | None:
        raise broken("x")

    assert await told(Foresight(find), OWNER) == {}
