"""None of a hundred hostile requests gets through: nothing is done, and nothing is shown."""

from pathlib import Path

import pytest

from tests.fakes.console_home import console_home, page_of
from tests.fakes.hostile_requests import filled, is_through, requests

ALL = dict(requests())


def test_there_are_a_hundred_of_them() -> None:
    assert len(ALL) >= 100


@pytest.mark.parametrize("group", range(4))
async def test_none_gets_through(tmp_path: Path, group: int) -> None:
    # One address asks them all at once, which would stop most of them alone
    async with console_home(tmp_path) as home:
        home.application._pace.burst = home.application._codes.burst = 10_000.0
        session = await home.session()
        before = (tmp_path / "people.json").read_bytes()
        through = []
        for name, text in list(ALL.items())[group::4]:
            answer = page_of(await home.say(filled(text, session, home.port)))
            if is_through(answer.status, answer.text):
                through.append((name, answer.status, answer.text))
        assert through == []
        assert home.agent.heard == []
        assert home.agent.stopped == []
        assert (tmp_path / "people.json").read_bytes() == before
        # A visitor is served all the same
        assert (await home.get("/board", session)).status == 200
        assert (await home.post("/say", session, text="hello")).status == 204
