from pathlib import Path

from agent.access.pairing_codes import FREE_TRIES, FREE_TRIES_OF_ALL, Invitation
from agent.gateway.tokens import LONGEST_WAIT_S, GatewayTokens
from tests.fakes.household import Household


async def test_the_owner_is_told_of_whoever_gets_a_token(tmp_path: Path) -> None:
    home = Household(tmp_path)
    tokens = GatewayTokens("", home.people, home.codes, home.clock, home.tell)
    code = home.codes.make(Invitation(role="guest", name="monitor"))
    token = await tokens.for_code(code, "10.0.0.1")
    assert token is not None
    assert tokens.is_right(token)
    assert home.told[0].startswith("`monitor` has access now as guest, over gateway.")
    assert await tokens.for_code(code, "10.0.0.1") is None
    assert len(home.told) == 1


async def test_one_guesser_makes_nobody_else_wait(tmp_path: Path) -> None:
    home = Household(tmp_path)
    tokens = GatewayTokens("", home.people, home.codes, home.clock)
    # Also where so many guess that there is a limit for all of them
    for number in range(3 * FREE_TRIES_OF_ALL):
        assert await tokens.for_code("00000-00000", f"10.0.0.{number}") is None
    assert tokens.wait_s("10.0.0.1") > 0
    assert tokens.wait_s("10.9.9.9") == 0
    code = home.codes.make(Invitation(role="guest", name="monitor"))
    assert await tokens.for_code(code, "10.0.0.1") is None
    assert await tokens.for_code(code, "10.9.9.9") is not None


async def test_the_wait_of_a_guesser_has_a_bound(tmp_path: Path) -> None:
    home = Household(tmp_path)
    tokens = GatewayTokens("", home.people, home.codes, home.clock)
    for _ in range(FREE_TRIES + 20):
        await tokens.for_code("00000-00000", "10.0.0.1")
        assert tokens.wait_s("10.0.0.1") <= LONGEST_WAIT_S
        home.clock.advance(tokens.wait_s("10.0.0.1"))
    code = home.codes.make(Invitation(role="guest", name="monitor"))
    assert await tokens.for_code(code, "10.0.0.1") is not None
