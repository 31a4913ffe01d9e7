from pathlib import Path

import pytest

from agent.app.run import console_wanted
from agent.gateway.settings import ConsoleSettings

ON, OFF = ConsoleSettings(listen="127.0.0.1:1"), ConsoleSettings(enabled=False)


@pytest.mark.parametrize("is_card", [True, False])
def test_a_card_has_a_console_and_others_by_their_table(tmp_path: Path, *, is_card: bool) -> None:
    image = tmp_path / "image.json"
    if is_card:
        image.touch()
    assert console_wanted(ON, image) == ON
    assert console_wanted(OFF, image) is None
    assert (console_wanted(None, image) is not None) is is_card
