"""Dialog in a terminal: questions with default answers."""

from typing import Protocol

from agent.provision.key_proof import Proof, ProofVerdict
from agent.text.printable import printable_line

# What stands for a secret that is kept; as many stars as the shortest Wi-Fi password has letters
KEPT = "*" * 8
_MAX_REASON_CHARS = 300


class Screen(Protocol):
    """Screen of the questions and answers."""

    def say(self, text: str) -> None: ...

    def ask(self, question: str) -> str:
        """Ask and return the typed line; leaving raises EOFError or KeyboardInterrupt."""

    def ask_secret(self, question: str) -> str:
        """Ask without showing the typed text."""


class Asker:
    """Asks on a screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def text(self, question: str, usual: str) -> str:
        shown = f"{question} [{usual}] " if usual else f"{question} "
        return self._screen.ask(shown).strip() or usual

    def secret(self, question: str, *, may_keep: bool) -> str:
        hint = " [keep the present one]" if may_keep else ""
        typed = self._screen.ask_secret(f"{question} (not shown){hint}: ").strip()
        return typed or (KEPT if may_keep else "")

    def yes(self, question: str, *, usual: bool) -> bool:
        while True:
            answer = self._screen.ask(f"{question} [{'Y/n' if usual else 'y/N'}] ").strip().lower()
            if answer in {"", "y", "yes", "n", "no"}:
                return usual if not answer else answer[0] == "y"
            self.complain("please answer y or n")

    def stands(self, proof: Proof) -> bool:
        """Return true if the proven value is to be used."""
        if proof.verdict is ProofVerdict.GOOD:
            self._screen.say(f"Good: {printable_line(proof.said, _MAX_REASON_CHARS)}.")
            return True
        self.complain(proof.said)
        return proof.verdict is ProofVerdict.UNKNOWN and self.yes(
            "It could not be tested. Use it anyway?", usual=False
        )

    def complain(self, text: str) -> None:
        self._screen.say(f"! {printable_line(text, _MAX_REASON_CHARS)}")
