import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.access.owner import ReachedOwner
from agent.messages import Address, Attachment, Inbound, Provenance
from tests.fakes.channel import FakeChannel
from tests.fakes.household import OWNER, Household
from tests.fakes.owners_places import LOCAL, places_of
from tests.fakes.said import words


class Kept:
    """What was told where, and what began."""

    def __init__(self) -> None:
        self.told: list[tuple[Address, str]] = []
        self.begun: list[Inbound] = []
        self.files: list[Attachment] = []

    async def announce(self, to: Address, text: str, files: Sequence[Attachment] = ()) -> None:
        self.told.append((to, text))
        self.files += files

    async def begin(self, inbound: Inbound) -> None:
        self.begun.append(inbound)


async def test_words_and_turns_reach_the_owners_channel(tmp_path: Path) -> None:
    kept, home = Kept(), Household(tmp_path)
    whereabouts = places_of(home, {"telegram": FakeChannel()})
    owner = ReachedOwner(whereabouts, home.clock, kept.announce, kept.begin)
    await owner.tell("Dry.")
    await owner.begin("dry", words("[dry] water"))
    assert kept.told == [(Address("telegram", OWNER, OWNER), "Dry.")]
    inbound = kept.begun[0]
    assert (inbound.text, inbound.provenance) == ("[dry] water", Provenance.SENSOR)
    assert (inbound.who, inbound.conversation) == ("owner", f"telegram_{OWNER}_watch-dry_{OWNER}")


async def test_without_a_channel_words_are_kept_with_their_time_and_nothing_is_done(
    tmp_path: Path,
) -> None:
    kept, home = Kept(), Household(tmp_path, is_empty=True)
    owner = ReachedOwner(places_of(home, {}), home.clock, kept.announce, kept.begin)
    await owner.tell("Dry.")
    await owner.begin("dry", words("water the plants"))
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(home.clock.wall_s()))
    assert kept.told == [
        (LOCAL, f"{at}: Dry."),
        (LOCAL, f"{at}: dry: I could not reach you, so I did not do this: water the plants"),
    ]
    assert kept.begun == []


PICTURE = Attachment("drawings/reading.png", "image/png")


@pytest.mark.parametrize(
    ("takers", "said", "files"), [({"telegram"}, "Hot.", [PICTURE]), (set(), "Hot.\n▁█", [])]
)
async def test_a_drawing_goes_where_files_can_and_its_line_elsewhere(
    tmp_path: Path, takers: set[str], said: str, files: list[Attachment]
) -> None:
    kept, home = Kept(), Household(tmp_path)
    whereabouts = places_of(home, {"telegram": FakeChannel()})
    owner = ReachedOwner(whereabouts, home.clock, kept.announce, kept.begin, takers.__contains__)
    await owner.show("Hot.", (PICTURE,), "▁█")
    assert kept.told == [(Address("telegram", OWNER, OWNER), said)]
    assert kept.files == files


async def test_an_owner_who_is_away_gets_the_line_of_a_drawing(tmp_path: Path) -> None:
    kept, home = Kept(), Household(tmp_path, is_empty=True)
    owner = ReachedOwner(places_of(home, {}), home.clock, kept.announce, kept.begin)
    await owner.show("Hot.", (PICTURE,), "▁█")
    ((place, text),) = kept.told
    assert place == LOCAL
    assert text.endswith("Hot.\n▁█")
    assert kept.files == []
