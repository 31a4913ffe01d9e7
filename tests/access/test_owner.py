import time
from pathlib import Path

from agent.access.owner import ReachedOwner
from agent.messages import Address, Inbound, Provenance
from tests.fakes.channel import FakeChannel
from tests.fakes.household import OWNER, Household
from tests.fakes.owners_places import LOCAL, places_of
from tests.fakes.said import words


class Kept:
    """What was told where, and what began."""

    def __init__(self) -> None:
        self.told: list[tuple[Address, str]] = []
        self.begun: list[Inbound] = []

    async def announce(self, to: Address, text: str) -> None:
        self.told.append((to, text))

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
