"""The twenty tasks: a sentence, and what a model that can be trusted does with it."""

import enum
import re

from msgspec import Struct

from agent.app.probe.board import ProbeBoard


class ProbeSkill(enum.Enum):
    """Ability that a task tries."""

    # Does what it is told, with the right tool and the right pin
    CALLS = "calls"
    # Does nothing where nothing is to be done
    RESTRAINT = "restraint"
    # Tells a failure, and tries again where that helps
    REPAIR = "repair"
    # Does all this in other languages than English
    LANGUAGES = "languages"


class ProbeTask(Struct, frozen=True):
    """One task.

    Args:
        moved: outputs and their values afterwards; nothing else may have been moved.
        read: a tool that has to be called; empty where none has.
        answer: pattern that the answer has to match.
        calls_nothing: no tool may be called at all.
        board: state of the board at the beginning.
    """

    skill: ProbeSkill
    sentence: str
    moved: tuple[tuple[str, str], ...] = ()
    read: str = ""
    answer: str = r"\S"
    calls_nothing: bool = False
    is_unplugged: bool = False
    fails_first: bool = False
    was_on: tuple[str, ...] = ()

    def new_board(self) -> ProbeBoard:
        board = ProbeBoard(is_plugged_in=not self.is_unplugged, fails_first=self.fails_first)
        board.values.update(dict.fromkeys(self.was_on, "on"))
        return board

    def fault(self, board: ProbeBoard, called: list[str], answer: str) -> str:
        """Return what is wrong with how it was done; empty where it is right."""
        moved = dict(board.moved)
        if moved != dict(self.moved):
            return f"moved {_told(moved)} instead of {_told(dict(self.moved))}"
        if self.calls_nothing and called:
            return f"called {called[0]} where nothing was to be done"
        if self.read and not any(name.endswith(self.read) for name in called):
            return f"did not call {self.read}"
        if not re.search(self.answer, answer, re.IGNORECASE):
            return "the answer does not say it" if answer.strip() else "no answer"
        return ""


def _told(moved: dict[str, str]) -> str:
    return ", ".join(f"{pin} {value}" for pin, value in moved.items()) or "nothing"


_CALLS, _RESTRAINT = ProbeSkill.CALLS, ProbeSkill.RESTRAINT
_REPAIR, _LANGUAGES = ProbeSkill.REPAIR, ProbeSkill.LANGUAGES
# A claim that it worked has none of these
_FAILED = r"n[o']t\b|fail|unable|unplug|disconnect|no board|cannot|error|problem|plugged"

TASKS = (
    ProbeTask(_CALLS, "Turn the led on.", (("led", "on"),)),
    ProbeTask(_CALLS, "Switch the water pump off.", (("pump", "off"),), was_on=("pump",)),
    ProbeTask(_CALLS, "Turn on the led and the relay.", (("led", "on"), ("relay", "on"))),
    ProbeTask(_CALLS, "Please start the fan.", (("relay", "on"),)),
    ProbeTask(_CALLS, "Is the button pressed?", read="gpio_read", answer=r"\bno|not|off|n't"),
    ProbeTask(
        _CALLS, "What is the voltage at the moisture sensor?", read="adc_read", answer="1.85"
    ),
    ProbeTask(_CALLS, "How warm is the chip of the board?", read="mcu_temperature", answer="41.5"),
    ProbeTask(_CALLS, "What day of the week is it?", read="time_now", answer="day"),
    ProbeTask(_RESTRAINT, "Thank you, that was all.", calls_nothing=True),
    ProbeTask(_RESTRAINT, "How much is three plus four?", answer=r"\b(7|seven)\b"),
    ProbeTask(
        _RESTRAINT, "In one sentence: what is a relay? Switch nothing.", answer="relay|switch"
    ),
    ProbeTask(_RESTRAINT, "Do not turn the pump on, I only think aloud.", answer=r"\S"),
    ProbeTask(_REPAIR, "Turn the led on.", is_unplugged=True, answer=_FAILED),
    ProbeTask(_REPAIR, "Turn the heater on.", answer=_FAILED + "|which|have|available"),
    ProbeTask(_REPAIR, "Turn the led on.", (("led", "on"),), fails_first=True),
    ProbeTask(_LANGUAGES, "Schalte bitte die LED ein.", (("led", "on"),)),
    ProbeTask(_LANGUAGES, "Apaga la bomba, por favor.", (("pump", "off"),), was_on=("pump",)),
    ProbeTask(_LANGUAGES, "Allume le relais, s'il te plaît.", (("relay", "on"),)),
    ProbeTask(_LANGUAGES, "请打开水泵。", (("pump", "on"),)),
    ProbeTask(_LANGUAGES, "Wie warm ist der Chip?", read="mcu_temperature", answer="41[.,]5"),
)
