"""What is said about a refused command, for a model to repair it."""

import pytest

from agent.errors import CommandRefused
from agent.security.argv import MAX_BYTES, MAX_WORDS, accepted
from agent.tools.settings import PROGRAMS


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("rm x", "'rm' is not an allowed program; allowed are: cat, cut, date"),
        ("ls --colour", "ls is refused: '--colour' is not an allowed option"),
        ("ls -lZ", "'-Z' is not an allowed option"),
        ("head -n", "-n needs a value"),
        ("head -n five plan.txt", "-n: 'five' is not a number"),
        ("cut -f a plan.txt", "-f: 'a' is not a list of numbers"),
        ("ls --sort=name", "--sort: 'name' is not one of none, size, time"),
        ("diff a", "it needs 2 operands"),
        ("uname x", "'x' is one operand too many"),
        ("cat /etc/passwd", "it is absolute or has an empty part"),
        ("cat .results/x", "only file_read reads .results"),
        ("find . -delete", "'-delete' is not an allowed test or action of find"),
        ("find . -name", "-name needs a value"),
        ("find . -type x", "-type: 'x' is not one of f, d, l"),
        ("find -print notes", "'notes' cannot follow an expression"),
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
        ([], "the command is empty"),
        (["ls"] * (MAX_WORDS + 1), "more than 64 words"),
        (["echo", "x" * MAX_BYTES], "longer than 4096 bytes"),
        (["echo", "a\nb"], "invisible characters"),
        # One of each kind: control, direction, half a character, and both ends of lines
        *(
            (["echo", f"a{char}b"], "invisible characters")
            for char in "\x07\u202e\ud800\u2028\u2029"
        ),
    ],
)
def test_what_a_person_could_not_read_is_refused(argv: list[str], complaint: str) -> None:
    with pytest.raises(CommandRefused, match=complaint):
        accepted(argv, PROGRAMS)


def test_a_command_may_be_as_long_as_it_may_be_read() -> None:
    for argv in (["ls", *["a"] * 63], ["echo", "x" * 4092]):
        assert accepted(argv, PROGRAMS) == tuple(argv)
    for argv in (["ls", *["a"] * 64], ["echo", "x" * 4093]):
        with pytest.raises(CommandRefused):
            accepted(argv, PROGRAMS)


def test_a_program_is_run_where_it_is_allowed_and_has_a_grammar() -> None:
    for name in ("ls", "rm", "sh"):
        with pytest.raises(CommandRefused) as caught:
            accepted([name], {"cat", "wc", "rm"})
        assert str(caught.value).endswith("allowed are: cat, wc")


def test_of_a_long_name_only_its_beginning_is_repeated() -> None:
    with pytest.raises(CommandRefused) as caught:
        accepted(["x" * 500], PROGRAMS)
    assert "x" * 30 in str(caught.value)
    assert "x" * 41 not in str(caught.value)
