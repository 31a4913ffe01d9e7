"""This terminal, where a command asks."""

import getpass
from dataclasses import dataclass

from agent.cli.output import say


@dataclass(frozen=True, slots=True)
class Terminal:
    """Shows and asks."""

    def say(self, text: str) -> None:
        say(text)

    def ask(self, question: str) -> str:
        return input(question)

    def ask_secret(self, question: str) -> str:
        return getpass.getpass(question)
