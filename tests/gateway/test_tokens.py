from pathlib import Path

from agent.dispatch.codes import Invitation
from agent.gateway.tokens import Tokens
from tests.fakes.household import Household


async def test_the_owner_is_told_of_whoever_gets_a_token(tmp_path: Path) -> None:
    home = Household(tmp_path)
    tokens = Tokens("", home.people, home.codes, home.clock, home.tell)
    code = home.codes.make(Invitation(role="guest", name="monitor"))
    token = await tokens.for_code(code)
    assert token is not None
    assert tokens.is_right(token)
    assert home.told[0].startswith("`monitor` was let in as guest, over gateway.")
    assert await tokens.for_code(code) is None
    assert len(home.told) == 1
