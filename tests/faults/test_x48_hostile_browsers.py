"""None of a hundred hostile requests gets through: nothing is done, and nothing is shown."""

from pathlib import Path

import pytest

from agent.console.request import form_token
from tests.fakes.console_home import ConsoleHome, console_home, page_of
from tests.fakes.hostile_requests import requests

ALL = dict(requests())
# What only somebody who was let in may see, and what lies beside the console
SECRETS = ("PC13", "simulated", "board_gpio_write", "owner", "root:", "import ", "tgz", "telegram")
DOOR = "D" * 43


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
            answer = page_of(await home.say(_filled(text, home, session)))
            shown = [one for one in SECRETS if one in _without_hints(answer.text)]
            if 200 <= answer.status <= 399 or shown:
                through.append((name, answer.status, shown))
        assert through == []
        assert home.agent.heard == []
        assert home.agent.stopped == []
        assert (tmp_path / "people.json").read_bytes() == before
        # A visitor is served all the same
        assert (await home.get("/board", session)).status == 200
        assert (await home.post("/say", session, text="hello")).status == 204


def _without_hints(text: str) -> str:
    """The door's own page says how to come in; those words tell nothing of this device."""
    return text.replace("ask its owner", "").replace("let the owner", "")


def _filled(text: str, home: ConsoleHome, session: str) -> bytes:
    for mark, value in (
        ("DOORTOKEN", form_token(DOOR)),
        ("TOKEN", form_token(session)),
        ("DOOR", DOOR),
        ("SESSION", session),
        ("PORT", str(home.port)),
    ):
        text = text.replace(mark, value)
    head, gap, body = text.partition("\r\n\r\n")
    if head.count("content-length: ") == 1 and body and "chunked" not in head:
        lines = [
            f"content-length: {len(body)}" if line.startswith("content-length: ") else line
            for line in head.split("\r\n")
        ]
        head = "\r\n".join(lines)
    return (head + gap + body).encode("latin-1")
