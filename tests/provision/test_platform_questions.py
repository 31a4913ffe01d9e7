from collections.abc import Iterator

import pytest

from agent.channels.catalog import platform
from agent.channels.settings import ChannelsSettings
from agent.provision.key_proof import Proof, ProofVerdict
from agent.provision.platform_questions import PlatformQuestions
from agent.provision.toml_text import Table


class TypedScreen:
    """A person's answers, by how each question begins; any other is left empty."""

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def say(self, text: str) -> None:
        """Nothing is read of it."""

    def ask(self, question: str) -> str:
        self.asked.append(question)
        found: Iterator[str] = (
            typed for begins, typed in self._answers.items() if question.startswith(begins)
        )
        return next(found, "")

    ask_secret = ask


def table_of(screen: TypedScreen, before: Table) -> Table:
    def prove(_: ChannelsSettings) -> Proof:
        return Proof(ProofVerdict.GOOD, "it is there")

    there = platform("matrix")
    return PlatformQuestions(screen, there, before, lambda _key: False, prove).table()


@pytest.mark.parametrize("before", [{}, {"token": "syt_old"}, {"token_file": "/etc/old"}])
def test_with_a_name_and_a_password_no_token_is_asked_for(before: Table) -> None:
    screen = TypedScreen({"The account's name": "barnacle", "Its password": "hunter2"})
    table = table_of(screen, before)
    assert table == {"user": "barnacle", "password": "hunter2"}
    assert not any("token" in one for one in screen.asked)


def test_without_a_name_no_password_is_asked_for() -> None:
    screen = TypedScreen({"Its access token": "syt_new"})
    assert table_of(screen, {}) == {"token": "syt_new"}
    assert not any("password" in one for one in screen.asked)
