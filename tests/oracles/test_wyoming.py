"""Wyoming's own client, as Home Assistant uses it, speaks to a whole agent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.access.roles import PersonRole
from agent.channels.base import Answer
from tests.fakes.board_sim import BoardSim
from tests.fakes.lent_agent import Lent, lent
from tests.fakes.llm_server import streamed
from tests.oracles import clients
from tests.waits import wait_until

WYOMING = '[wyoming]\nlisten = "127.0.0.1:0"\n'
STORY = " ".join(f"This is sentence {number}." for number in range(20))
CONTEXT = {"conversation_id": "01JCR8", "device_id": "d1", "satellite_id": "assist_satellite.s"}


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, {"values": {}, "script": []}) as started:
        yield started


async def steps(made: Lent, *wanted: dict[str, object]) -> list[dict[str, Any]]:
    clients.needed()
    made.pair_voice(PersonRole.GUEST)
    port = await wait_until(lambda: made.voice_port)
    told = await clients.told_by("wyoming_caller", {"port": port, "steps": wanted})
    results: list[dict[str, Any]] = told["results"]
    return results


def say(text: str, do: str = "say") -> dict[str, object]:
    return {"do": do, "text": text, "language": "en", "context": CONTEXT}


async def test_the_client_learns_what_it_is_and_is_answered(tmp_path: Path) -> None:
    async with lent(tmp_path, gateway=WYOMING) as made:
        about, pong, answer, silence = await steps(
            made,
            {"do": "describe"},
            {"do": "ping", "text": "hello"},
            say("what time is it?"),
            say(" "),
        )
    assert about["name"] == "Barnacle"
    assert {"en", "de", "ja"} <= set(about["languages"])
    assert (about["others"], about["satellite"], about["streams"]) == ([], None, True)
    assert pong["text"] == "hello"
    assert "weekday" in answer["handled"]
    assert answer["context"] == {"conversation_id": CONTEXT["conversation_id"]}
    assert silence == {"not_handled": "Nothing was said."}


async def test_a_client_that_streams_and_one_that_does_not_get_the_same(tmp_path: Path) -> None:
    slow = streamed(STORY, piece_bytes=300, pause_s=0.05)
    async with lent(tmp_path, slow, slow, gateway=WYOMING) as made:
        stream, whole = await steps(made, say("tell me", "stream"), say("tell me"))
    assert len(stream["pieces"]) > 2
    assert "".join(stream["pieces"]) == stream["whole"] == whole["handled"] == STORY
    assert stream["started"] == {"conversation_id": CONTEXT["conversation_id"]}


async def test_an_act_asks_the_owner_and_the_room_hears_how_it_ended(
    tmp_path: Path, sim: BoardSim
) -> None:
    async with lent(tmp_path, gateway=WYOMING, sim=sim, answer=Answer.YES) as made:
        [answer] = await steps(made, say("turn on the led"))
        assert answer["handled"] == "The led is on now."
        assert made.led()[:1] == [1]
        assert len(made.owner.questions) == 1
