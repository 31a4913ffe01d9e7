import pytest

from agent.channels.email.commands import command_in


@pytest.mark.parametrize(
    ("subject", "text", "command"),
    [
        ("", "/estop", "/estop"),
        ("hello", "/estop", "/estop"),
        ("/estop", "", "/estop"),
        ("/ESTOP now", "turn the pump on", "/ESTOP now"),
        ("pump", "Hello Barnacle,\n\n/estop\n\nAnna", "/estop"),
        ("my new phone", "/pair K7WD-2M9P\n\nAnna", "/pair K7WD-2M9P"),
        ("/pair K7WD-2M9P", "", "/pair K7WD-2M9P"),
        ("Hi", "Hello,\n/pair K7WD-2M9P", "/pair K7WD-2M9P"),
        ("stop it", "/stop\nBest regards\nAnna", "/stop"),
        # Two commands are one, and the one that stops comes first
        ("/estop", "/status", "/estop"),
        ("/status", "/estop", "/estop"),
        ("/estop clear", "/estop", "/estop"),
        ("/stop", "/status", "/status"),
        # What loosens something is typed first, or it is no command
        ("/estop clear", "", "/estop clear"),
        ("hello", "/estop clear", "/estop clear"),
        ("hello", "I read this:\n/estop clear", ""),
        ("hello", "I read this:\n/configure yes", ""),
        ("hello", "I wonder:\n/new", ""),
        # What only looks like one
        ("lights", "turn the led on", ""),
        ("/etc", "/etc is full, clean it up", ""),
        ("hello", "/status of the pump?", ""),
        ("hello", "> /estop\nWhat does it do?\n> /stop\nAnd that?", ""),
        ("", "/estop " + "x" * 200, ""),
    ],
)
def test_a_command_is_looked_for_in_subject_and_text_alike(
    subject: str, text: str, command: str
) -> None:
    assert command_in(subject, text, is_answer=False) == command


@pytest.mark.parametrize(
    ("subject", "text", "command"),
    [
        ("Re: /estop", "thank you", ""),
        ("/estop clear", "thank you", ""),
        ("/status", "turn the led on", ""),
        ("/stop", "please", "/stop"),
        ("pump", "Hello Barnacle,\n\n/stop please!\n\nAnna", "/stop please!"),
        ("", "Hello,\n/stop the pump", ""),
        ("/estop", "/estop clear", "/estop clear"),
        ("Re: lights", "/status", "/status"),
        ("/status", "", "/status"),
    ],
)
def test_the_subject_of_an_answer_may_only_repeat_an_earlier_one(
    subject: str, text: str, command: str
) -> None:
    assert command_in(subject, text, is_answer=True) == command
