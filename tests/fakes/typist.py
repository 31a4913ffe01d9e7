"""A person at a terminal who answers what a command asks."""

import pytest


class Typist:
    """Types these answers; then leaves as Ctrl-D does."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    def __call__(self, _question: str = "") -> str:
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)


def typing(monkeypatch: pytest.MonkeyPatch, *answers: str) -> None:
    """From now on this process sits at a terminal, and these answers are typed."""
    typist = Typist(*answers)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", typist)
    monkeypatch.setattr("getpass.getpass", typist)
