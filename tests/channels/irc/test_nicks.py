from pathlib import Path

import pytest

from agent.channels.irc.inbound import IrcLine
from agent.channels.irc.nicks import MAX_KNOWN, NickOwners, check_owner
from agent.errors import ChannelUnavailable, MessageRefused


def whois(user: str = "anna", account: str = "", nick: str = "Anna[1]") -> list[IrcLine]:
    logged_in = IrcLine("330", ("me", nick, account, "is logged in as"))
    return [
        IrcLine("PRIVMSG", ("me", "hello"), "bert!b@example.org"),
        IrcLine("311", ("me", nick, user, "example.org", "*", "x")),
        *([logged_in] if account else []),
        IrcLine("318", ("me", nick, "End of WHOIS list")),
    ]


@pytest.mark.parametrize(
    ("owner", "heard"),
    [
        ("anna{1}!anna@example.org", whois()),
        ("account:Anna", whois("other", account="anna")),
        ("anna{1}!anna@example.org", whois(account="bert")),
    ],
)
def test_a_nick_is_still_theirs(owner: str, heard: list[IrcLine]) -> None:
    check_owner("anna{1}", owner, heard)


@pytest.mark.parametrize(
    ("owner", "heard"),
    [
        ("anna{1}!anna@example.org", whois("mallory")),
        ("account:anna", whois()),
        ("account:anna", whois(account="mallory")),
        ("anna{1}!account:anna@example.org", whois(account="anna")),
    ],
)
def test_a_nick_is_somebody_elses(owner: str, heard: list[IrcLine]) -> None:
    with pytest.raises(MessageRefused, match="somebody else by now"):
        check_owner("anna{1}", owner, heard)


def test_a_server_that_was_asked_too_often_says_it_later() -> None:
    with pytest.raises(ChannelUnavailable):
        check_owner("anna", "account:anna", [IrcLine("263", ("me", "WHOIS", "try again"))])
    with pytest.raises(MessageRefused, match="is not there"):
        check_owner("anna", "account:anna", whois(nick="bert"))


async def test_who_was_silent_for_longest_is_forgotten(tmp_path: Path) -> None:
    owners = NickOwners(tmp_path / "nicks.json")
    for number in range(MAX_KNOWN):
        await owners.note(f"N{number}", f"account:{number}")
    await owners.note("n0", "account:0")
    await owners.note("new", "account:new")
    again = NickOwners(tmp_path / "nicks.json")
    assert await again.owner("NEW") == "account:new"
    assert await again.owner("n0") == "account:0"
    assert await again.owner("n1") == ""
