"""What a start needs of the command line is made by itself."""

import pytest

from agent.cli.parser import parser


@pytest.mark.parametrize(
    "words",
    [["run"], ["run", "--config", "a.toml"], ["chat", "--plain"], ["console", "--debug"]],
    ids=lambda words: words[0] + str(len(words)),
)
def test_what_stays_is_read_as_among_all_commands(words: list[str]) -> None:
    assert parser(words[0]).parse_args(words) == parser().parse_args(words)


@pytest.mark.parametrize("word", ["", "status", "nonsense", "--help"], ids=repr)
def test_every_other_word_has_all_commands(word: str) -> None:
    assert parser(word).format_help() == parser().format_help()
    assert "estop" in parser(word).format_help()


def test_a_mistake_after_run_names_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser("run").parse_args(["run", "--nonsense"])
    assert capsys.readouterr().err == (
        "barnacle: unrecognized arguments: --nonsense\nTry `barnacle --help`.\n"
    )


def test_an_argument_behind_an_option_is_told_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser("board").parse_args(["board", "call", "gpio_write", "--debug", "pin=led"])
    assert "Write NAME=VALUE right behind the method" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["statsu"], "\nDid you mean `status`?\n"),
        (["board", "instal"], "\nDid you mean `install`?\n"),
        (["xyzzy"], ""),
    ],
)
def test_a_command_that_is_none_names_the_likeliest(
    typed: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser(typed[0]).parse_args(typed)
    said = capsys.readouterr().err
    assert meant in said
    assert ("Did you mean" in said) == bool(meant)
