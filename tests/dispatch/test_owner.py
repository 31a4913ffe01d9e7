from agent.dispatch.owner import ChannelOwner, UnreachableOwner
from agent.messages import Inbound, Outbound, Provenance
from tests.fakes.clock import SteppedClock


async def test_words_and_turns_reach_the_owners_channel() -> None:
    sent: list[Outbound] = []
    delivered: list[Inbound] = []

    async def send(message: Outbound) -> bool:
        sent.append(message)
        return True

    async def deliver(inbound: Inbound) -> None:
        delivered.append(inbound)

    owner = ChannelOwner("terminal", "owner", "local", SteppedClock(), send, deliver)
    await owner.tell("Dry.")
    await owner.begin("dry", "[dry] water")
    assert (sent[0].channel, sent[0].recipient, sent[0].text) == ("terminal", "local", "Dry.")
    inbound = delivered[0]
    assert (inbound.text, inbound.provenance) == ("[dry] water", Provenance.SENSOR)
    assert inbound.conversation == "terminal_local_watch-dry_owner"


async def test_without_a_channel_nothing_breaks() -> None:
    await UnreachableOwner().tell("Dry.")
    await UnreachableOwner().begin("dry", "water")
