import pytest

from agent.access.commands import HELP_TEXT, ChatCommand, argument_of, command_of


@pytest.mark.parametrize("command", list(ChatCommand))
def test_every_command_is_known_and_told(command: ChatCommand) -> None:
    assert command_of(command.value) is command
    assert command.value in HELP_TEXT


@pytest.mark.parametrize(
    "text",
    [
        *("/estop", " /ESTOP ", "/estop now!", "/estop!!", "/estopp", "/estop  it"),
        *("/estop/", "/estop and/or", "/estop now:", "／estop", "／ｅｓｔｏｐ！"),
    ],
)
def test_in_haste_any_spelling_stops(text: str) -> None:
    assert command_of(text) is ChatCommand.ESTOP


@pytest.mark.parametrize("text", ["/stop!", "/STOP!!!", "/stop .", "/stop。", "／stop", "/stop？"])
def test_a_sign_after_a_command_is_none_of_it(text: str) -> None:
    assert command_of(text) is ChatCommand.STOP


@pytest.mark.parametrize("text", ["/stop please", "/stop, bitte!", "/stop 马上"])
def test_a_stop_with_a_word_of_haste_is_a_stop(text: str) -> None:
    assert command_of(text) is ChatCommand.STOP


def test_clearing_is_spelled_exactly() -> None:
    assert command_of("/estop  Clear") is ChatCommand.ESTOP_CLEAR
    assert command_of("/estop clear it") is ChatCommand.ESTOP
    assert command_of("/estop clear?") is ChatCommand.ESTOP
    assert command_of("/configure yes?") is None


def test_a_sentence_that_begins_with_a_slash_is_a_message() -> None:
    assert command_of("/help me") is None
    assert command_of("/etc/passwd") is None
    assert command_of("/what") == "/what"


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        ("/model", ChatCommand.MODEL, ""),
        (" /Model   meta-llama/Llama-4:free ", ChatCommand.MODEL, "meta-llama/Llama-4:free"),
        ("/model hint:fast", ChatCommand.MODEL, "hint:fast"),
        ("／model　qwen", ChatCommand.MODEL, "qwen"),
        ("/models 2", ChatCommand.MODELS, "2"),
    ],
)
def test_a_model_is_named_as_its_service_writes_it(
    text: str, command: ChatCommand, argument: str
) -> None:
    assert command_of(text) is command
    assert argument_of(text) == argument


def test_a_sentence_about_a_model_is_a_message() -> None:
    assert command_of("/model railways are fun") is None
    assert command_of("/modelling") == "/modelling"
