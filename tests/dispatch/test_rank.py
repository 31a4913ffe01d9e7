import pytest

from agent.dispatch.rank import ROLES, Rank
from agent.messages import Provenance


def test_only_the_owner_has_the_owners_trust() -> None:
    assert [rank for rank in Rank if rank.trust is Provenance.OWNER] == [Rank.OWNER]
    assert {name: rank.trust for name, rank in ROLES.items()} == {
        "owner": Provenance.OWNER,
        "user": Provenance.USER,
        "guest": Provenance.WEB,
    }


@pytest.mark.parametrize("trust", list(Provenance))
def test_words_give_nobody_more_than_their_trust(trust: Provenance) -> None:
    assert Rank.of(trust).trust <= trust
