import pytest

from agent.errors import ConfigRefused
from agent.turn.hooks import open_hooks
from tests.fakes.channel import message


async def test_hooks_are_loaded_by_their_names() -> None:
    hooks = open_hooks(["tests.fakes.hooks:ShoutingHook"])
    assert await hooks.sending(message("x"), "fine") == "FINE"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tests.fakes.nowhere:Hook", "cannot be loaded"),
        ("tests.fakes.hooks:Missing", "cannot be loaded"),
        ("tests.fakes.hooks:asyncio", "is no agent.turn.hooks.Hook"),
        ("tests.fakes.hooks:UnmadeHook", "broke as it was made: no such luck"),
        ("tests.fakes.hooks:UnmadeLeavingHook", "broke as it was made: SystemExit: 3"),
    ],
)
def test_a_hook_that_is_not_there_is_refused_at_the_start(name: str, why: str) -> None:
    with pytest.raises(ConfigRefused, match=why):
        open_hooks([name])
