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


@pytest.mark.parametrize(
    ("name", "memory_mb", "is_told"),
    [("signal", 454, True), ("signal", 900, False), ("signal", 0, False), ("matrix", 454, False)],
)
def test_a_machine_too_small_for_a_platforms_program_is_told_first(
    name: str, memory_mb: int, *, is_told: bool
) -> None:
    told: list[str] = []

    class Heard(TypedScreen):
        def say(self, text: str) -> None:
            assert not self.asked or not text.startswith("This machine has")
            told.append(text)

    screen = Heard({"Its access token": "syt_new"})
    good = Proof(ProofVerdict.GOOD, "it is there")
    asked = PlatformQuestions(
        screen, platform(name), {}, lambda _key: False, lambda _: good, memory_mb
    )
    asked.table()
    assert any(one.startswith(f"This machine has {memory_mb} MB") for one in told) is is_told
