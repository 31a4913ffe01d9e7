from agent.tools.selection import ALWAYS_SHOWN


def test_every_tool_that_is_always_shown_has_its_reason() -> None:
    assert all(len(reason) > 20 for reason in ALWAYS_SHOWN.values())
    assert len(set(ALWAYS_SHOWN.values())) == len(ALWAYS_SHOWN)
