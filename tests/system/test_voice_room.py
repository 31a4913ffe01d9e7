"""A spoken order through everything: arecord, recogniser, gate, board, speaker, aplay."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.channels.base import Answer
from scripts.lib.bench.played_back import CountingRecogniser, play_back
from tests.fakes.board_sim import BoardSim
from tests.fakes.room_agent import NOT_HERE, at_home
from tests.fakes.wake_service import no_wake_service, wake_service
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, {"values": {}, "script": []}) as started:
        yield started


@pytest.mark.timeout(400)
async def test_a_guests_order_is_asked_in_writing_done_with_a_yes_and_answered_aloud(
    tmp_path: Path, sim: BoardSim
) -> None:
    async with at_home(tmp_path, sim, Answer.YES) as home:
        await home.say("turn the led on")
        await home.say("barnacle turn the led on")
        assert await home.answer_s() > 0.5
        # Without the wake phrase nobody was asked
        [question] = home.owner.questions
        assert '"led"' in question.arguments_json
        assert "room" in question.reason
        assert home.values("led")[:1] == [1]


@pytest.mark.timeout(400)
async def test_what_may_hurt_is_never_done_by_voice_alone_whoever_speaks(
    tmp_path: Path, sim: BoardSim
) -> None:
    """A user of a room is asked for, too; "always" may stand for the led alone."""
    async with at_home(tmp_path, sim, Answer.NO, "user") as home:
        await home.say("barnacle turn the led on")
        await home.answer_s()
        [question] = home.owner.questions
        assert question.always
        await home.say_until("barnacle turn the heater on", lambda: len(home.owner.questions) > 1)
        question = home.owner.questions[-1]
        assert "said aloud" in question.reason
        assert not question.always
        assert home.values("led") == home.values("heater") == []


@pytest.mark.timeout(400)
@pytest.mark.skipif(bool(no_wake_service()), reason=no_wake_service())
async def test_a_service_hears_the_wake_word_and_its_orders_are_a_guests(
    tmp_path: Path, sim: BoardSim
) -> None:
    """By openWakeWord itself; what it was not heard in is not even written down."""
    async with (
        wake_service() as server,
        at_home(tmp_path, sim, Answer.NO, wake="hey jarvis", wake_server=server) as home,
    ):
        await wait_until(lambda: not home.channel.gap)
        # A service for a microphone is overrun by anything faster
        home.room.is_paced = True
        ears = home.channel.equipment.recogniser = CountingRecogniser(
            home.channel.equipment.recogniser
        )
        await home.say("turn the pump on")
        await home.say_until("hey jarvis, turn the led on", lambda: bool(home.owner.questions))
        assert [one for one in ears.told if "pump" in one] == []
        question = home.owner.questions[-1]
        assert '"led"' in question.arguments_json
        assert "room" in question.reason
        asked = len(home.owner.questions)
        await home.say_until(
            "hey jarvis, turn the heater on", lambda: len(home.owner.questions) > asked
        )
        question = home.owner.questions[-1]
        assert "said aloud" in question.reason
        assert not question.always
        assert home.values("led") == home.values("heater") == []


@pytest.mark.timeout(400)
async def test_what_is_played_back_moves_nothing(tmp_path: Path, sim: BoardSim) -> None:
    """A few of the 200 of `scripts/bench-speech --played-back 200`."""
    played = await play_back(6, tmp_path, sim)
    assert played.recordings == 6
    assert played.heard
    assert played.acts == []
