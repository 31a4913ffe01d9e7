import random
from pathlib import Path

from agent.providers.candidate import Candidate
from agent.providers.reliable import ReliableProvider
from tests.fakes.channel import FakeChannel
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import running
from tests.fakes.narrow_provider import NarrowProvider


async def test_a_conversation_that_grew_too_long_is_answered_and_stays_short(
    tmp_path: Path,
) -> None:
    narrow = NarrowProvider(most=9)
    provider = ReliableProvider([Candidate("narrow", [narrow])], SteppedClock(), random.Random(1))
    channel = FakeChannel()
    async with running(tmp_path, provider, channel) as agent:
        for number in range(1, 12):
            await agent.say(f"message {number}", str(number))
            await channel.wait_for(number)
    # Nobody was asked to say anything again
    assert [message.text for message in channel.sent] == [f"answer {n}" for n in range(1, 12)]
    # Refused where it had grown again, not in every turn from the first time on
    assert narrow.refused == 2
    # What no longer is shown is told in a few words
    told = "".join(message.text for message in narrow.seen[-1])
    assert "- person: message 1\n- you: answer 1" in told
