import time

from agent.dispatch.owner import AbsentOwner, ChannelOwner
from agent.messages import Inbound, Provenance
from tests.fakes.clock import SteppedClock


async def test_words_and_turns_reach_the_owners_channel() -> None:
    told: list[str] = []
    delivered: list[Inbound] = []

    async def announce(text: str) -> None:
        told.append(text)

    async def deliver(inbound: Inbound) -> None:
        delivered.append(inbound)

    owner = ChannelOwner("terminal", "owner", "local", SteppedClock(), announce, deliver)
    await owner.tell("Dry.")
    await owner.begin("dry", "[dry] water")
    assert told == ["Dry."]
    inbound = delivered[0]
    assert (inbound.text, inbound.provenance) == ("[dry] water", Provenance.SENSOR)
    assert inbound.conversation == "terminal_local_watch-dry_owner"


async def test_without_a_channel_words_are_kept_with_their_time_and_nothing_is_done() -> None:
    told: list[str] = []

    async def announce(text: str) -> None:
        told.append(text)

    clock = SteppedClock()
    owner = AbsentOwner(clock, announce)
    await owner.tell("Dry.")
    await owner.begin("dry", "water the plants")
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(clock.wall_s()))
    assert told == [
        f"{at}: Dry.",
        f"{at}: dry: nobody was here, so I did not do this: water the plants",
    ]
