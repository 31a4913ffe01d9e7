import msgspec
import pytest

from agent.access.roles import ROLES, HasRole, PersonRole
from agent.messages import Provenance


def test_only_the_owner_has_the_owners_trust() -> None:
    assert [rank for rank in PersonRole if rank.trust is Provenance.OWNER] == [PersonRole.OWNER]
    assert {name: rank.trust for name, rank in ROLES.items()} == {
        "owner": Provenance.OWNER,
        "user": Provenance.USER,
        "guest": Provenance.WEB,
    }


@pytest.mark.parametrize("trust", list(Provenance))
def test_words_give_nobody_more_than_their_trust(trust: Provenance) -> None:
    assert PersonRole.of(trust).trust <= trust


def test_ranks_are_four_steps() -> None:
    assert [int(rank) for rank in PersonRole] == [0, 1, 2, 3]


@pytest.mark.parametrize("role", ["owner", "user", "guest"])
def test_a_word_for_a_rank_is_read(role: str) -> None:
    assert msgspec.convert({"role": role}, HasRole).rank.role == role


@pytest.mark.parametrize("role", ["member", "admin", ""])
def test_no_other_word_is(role: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="one of owner, user, guest"):
        msgspec.convert({"role": role}, HasRole)
