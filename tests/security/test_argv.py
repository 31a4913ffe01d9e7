"""What is said about a refused command, for a model to repair it."""

import pytest

from agent.errors import CommandRefused
from agent.security.argv import MAX_BYTES, MAX_WORDS, accepted
from agent.tools.settings import PROGRAMS


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("rm x", "'rm' is not among the programs that may be run: cat, cut, date"),
        ("ls --colour", "ls is refused: '--colour' is no option of it here"),
        ("ls -lZ", "'-Z' is no option of it here"),
        ("head -n", "-n needs a value"),
        ("head -n five plan.txt", "-n: 'five' is no number"),
        ("cut -f a plan.txt", "-f: 'a' is no list of numbers"),
        ("ls --sort=name", "--sort: 'name' is none of none, size, time"),
        ("diff a", "it needs 2 operands"),
        ("uname x", "'x' is one operand too many"),
        ("cat /etc/passwd", "it is absolute or has an empty part"),
        ("cat .results/x", ".results is only for file_read"),
        ("find . -delete", "'-delete' is no test or action of find here"),
        ("find . -name", "-name needs a value"),
        ("find . -type x", "-type: 'x' is none of f, d, l"),
        ("find -print notes", "'notes' cannot stand behind an expression"),
        ("date 01010000", "only a format that begins with +"),
        ("jq env", "a filter may not use env"),
        ("cat " + "a" * 60 + "/..", "is refused"),
        ("ls -" + "-" * 60, "..."),
    ],
)
def test_it_says_what_is_wrong(line: str, complaint: str) -> None:
    with pytest.raises(CommandRefused) as caught:
        accepted(line.split(" "), PROGRAMS)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        ([], "there is no command"),
        (["ls"] * (MAX_WORDS + 1), "more than 64 words"),
        (["echo", "x" * MAX_BYTES], "longer than 4096 bytes"),
        (["echo", "a\nb"], "cannot be seen"),
    ],
)
def test_what_a_person_could_not_read_is_refused(argv: list[str], complaint: str) -> None:
    with pytest.raises(CommandRefused, match=complaint):
        accepted(argv, PROGRAMS)
