"""A program asked as a model: what it is given, and what becomes of its lies."""

import json
import os
from pathlib import Path

import pytest

from agent.config import Secret
from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderRefused,
    RateLimited,
    ToolsUnsupported,
    TransientProviderError,
)
from agent.messages import Effect
from agent.net.http import HttpClient
from agent.providers.base import ChatRequest, ChatResponse
from agent.providers.create import service_providers
from agent.providers.program.provider import MAX_WORDS_BYTES, ProgramCommand, ProgramProvider
from agent.providers.settings import (
    ProgramComplaints,
    ProgramOutput,
    ProgramSettings,
    ProviderSettings,
)
from tests.canaries import secret
from tests.fakes.llm_talk import heard
from tests.fakes.said import spec_of, system_said, user_said
from tests.fakes.sandbox import no_bubblewrap
from tests.fakes.scripted_program import DOCUMENT, LINES, deltas, document, done, lines, program

pytestmark = pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
KEY = secret("program")
HOSTILE = ("--help", "-", "a\0b", "a \ud83d b", "$(touch /tmp/x) `id` ; exit 1", "'\"\\", "\x1b[2J")


def asked(text: str, **more: object) -> ChatRequest:
    return ChatRequest((system_said("Be brief."), user_said(text)), **more)  # type: ignore[arg-type]


def declared(*command: str, **more: object) -> ProgramSettings:
    return ProgramSettings(command=command, **more)  # type: ignore[arg-type]  # a table of fields


def first(settings: ProviderSettings, environ: dict[str, str] | None = None) -> ProgramProvider:
    found = service_providers(settings, environ or {}, HttpClient())[0]
    assert isinstance(found, ProgramProvider)
    return found


def of(program: ProgramSettings, **more: object) -> ProgramProvider:
    return first(ProviderSettings(kind="program", program=program, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("command", [("cat",), ("printf", "%s", "{prompt}")], ids=["input", "word"])
async def test_no_text_is_more_than_text(text: str, command: tuple[str, ...]) -> None:
    shown, ended = await heard(of(declared(*command)), asked(text))
    assert isinstance(ended, ChatResponse), ended
    said = text.replace("\0", "\ufffd").replace("\ud83d", "\ufffd").replace("\x1b[2J", "")
    assert f"<person>\n{said}\n</person>" in shown


async def test_a_megabyte_goes_by_standard_input_alone() -> None:
    long = asked("x" * 1_000_000)
    shown, ended = await heard(of(declared("wc", "-c")), long)
    assert isinstance(ended, ChatResponse)
    assert int(shown) > 1_000_000
    _, ended = await heard(of(declared("echo", "{prompt}")), long)
    assert isinstance(ended, ContextOverflow)
    assert "standard input" in str(ended)


@pytest.mark.parametrize("letter", ["x", "好", "\n", '"'])
async def test_the_longest_words_are_taken_and_no_longer_ones(letter: str) -> None:
    """What is refused here is refused before the sandbox refuses it."""
    model = of(declared("wc", "-c", "{prompt}"))
    each = len(json.dumps(letter)) - 2
    _, ended = await heard(model, asked(letter * ((MAX_WORDS_BYTES - 1500) // each)))
    assert not isinstance(ended, ContextOverflow)
    _, ended = await heard(model, asked(letter * (MAX_WORDS_BYTES // each)))
    assert isinstance(ended, ContextOverflow)


async def test_instructions_and_model_go_where_the_declaration_says() -> None:
    model = of(declared("printf", "[%s]", "-m={model}", "{system}", "{prompt}"), model="a/b:c")
    shown, _ = await heard(model, asked("{model} {system}"))
    assert shown.startswith("[-m=a/b:c][Instructions for the assistant:\n\nBe brief.]")
    assert "<instructions>" not in shown
    assert "{model} {system}" in shown


@pytest.mark.parametrize("name", ["--dangerous", "-x", "a b", "a\nb", "", "x" * 201, "a;b"])
async def test_a_name_that_is_no_model_is_no_word(name: str) -> None:
    model = of(declared("echo", "{model}"), model="m")
    _, ended = await heard(model, asked("hi", model=name or " "))
    assert isinstance(ended, ProviderRefused)


async def test_a_model_is_no_use_to_a_command_that_takes_none() -> None:
    _, ended = await heard(of(declared("cat")), asked("hi", model="another"))
    assert isinstance(ended, ProviderRefused)
    assert "put {model} into program.command" in str(ended)


def test_a_command_with_a_model_needs_one() -> None:
    with pytest.raises(Exception, match=r"set provider\.model"):
        of(declared("echo", "{model}"))


async def test_it_is_told_only_what_the_declaration_lists(tmp_path: Path) -> None:
    program = declared(
        "sh",
        "-c",
        "env | sort",
        env={"MY_TOKEN": Secret("t-12345678")},
        pass_env=("SEEN", "ABSENT"),
        home=str(tmp_path),
        key_variable="MY_KEY",
    )
    environ = {"SEEN": "yes", "UNSEEN": "no", "MY_KEY": KEY, "LD_PRELOAD": "x"}
    model = first(ProviderSettings(kind="program", program=program), environ)
    shown, _ = await heard(model, asked("hi"))
    told = dict(line.split("=", 1) for line in shown.splitlines())
    assert told.items() >= {"MY_TOKEN": "t-12345678", "SEEN": "yes", "MY_KEY": KEY}.items()
    assert told["HOME"] == str(tmp_path)
    assert set(told) <= {
        *("MY_TOKEN", "SEEN", "MY_KEY", "HOME", "PATH", "LANG", "TERM", "NO_COLOR"),
        *("PWD", "OLDPWD", "SHLVL", "_"),
    }


async def test_each_key_is_a_way_of_its_own() -> None:
    program = declared("sh", "-c", "echo $MY_KEY", key_variable="MY_KEY")
    settings = ProviderSettings(
        kind="program", program=program, api_key=Secret(KEY), more_keys=(Secret("second-key"),)
    )
    ways = service_providers(settings, {}, HttpClient())
    assert [(await heard(way))[0] for way in ways] == [KEY, "second-key"]


async def test_no_key_is_in_an_error() -> None:
    program = declared("sh", "-c", "echo bad key $MY_KEY >&2; exit 1", key_variable="MY_KEY")
    model = first(ProviderSettings(kind="program", program=program, api_key=Secret(KEY)))
    _, ended = await heard(model)
    assert isinstance(ended, TransientProviderError | KeyRefused)
    assert KEY not in str(ended)


async def test_it_sees_nothing_of_the_machine_but_what_is_declared(tmp_path: Path) -> None:
    (tmp_path / "seen").write_text("seen")
    (tmp_path / "unseen").write_text("unseen")
    script = f"cat {tmp_path}/seen {tmp_path}/unseen; ls /root /home /var /etc/ssl /work; true"
    shown, _ = await heard(program(script, reads=[tmp_path / "seen"]))
    assert shown == "seen"


async def test_a_program_takes_no_tools_of_ours() -> None:
    tool = spec_of("zoom", "Zooms.", {"type": "object"}, Effect.READ)
    _, ended = await heard(program("cat"), asked("hi", tools=(tool,)))
    assert isinstance(ended, ToolsUnsupported)
    assert ended.is_lasting
    assert not program("cat").capabilities().native_tools


async def test_a_failure_after_a_part_is_no_answer() -> None:
    shown, ended = await heard(program("echo half; exit 1"))
    assert isinstance(ended, TransientProviderError)
    assert (shown, str(ended)) == ("half", "fake-cli failed (exit 1: half)")


@pytest.mark.parametrize(
    ("output", "said"),
    [(LINES, lines(*deltas("all of it"), done())), (DOCUMENT, document("all of it"))],
    ids=["lines", "document"],
)
async def test_a_whole_answer_counts_whatever_the_status_says(
    tmp_path: Path, output: ProgramOutput, said: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "said").write_bytes(said)
    shown, ended = await heard(program(f"cat {tmp_path}/said; exit 1", output, [tmp_path]))
    assert isinstance(ended, ChatResponse)
    assert shown == "all of it"
    assert ("exit=1" in caplog.text) is (output is DOCUMENT)


async def test_a_complaint_is_no_answer_though_the_status_is_0() -> None:
    failures = ProgramComplaints(rate_limit=("^Sorry, too fast",))
    _, ended = await heard(program("echo Sorry, too fast", failures=failures))
    assert isinstance(ended, RateLimited)
    _, ended = await heard(program("echo You said: Sorry, too fast", failures=failures))
    assert isinstance(ended, ChatResponse)
    shown, ended = await heard(program("echo the rate limit is 5 per second"))
    assert (shown, isinstance(ended, ChatResponse)) == ("the rate limit is 5 per second", True)


async def test_nothing_but_a_complaint_is_no_answer() -> None:
    _, ended = await heard(program("echo Invalid API key >&2"))
    assert isinstance(ended, KeyRefused)


async def test_rubbish_is_no_answer() -> None:
    _, ended = await heard(program("head -c 5000 /dev/urandom"))
    assert isinstance(ended, TransientProviderError)
    assert "invalid answer: no text" in str(ended)
    _, ended = await heard(program("head -c 5000 /dev/urandom", DOCUMENT))
    assert isinstance(ended, TransientProviderError)


async def test_a_program_that_is_not_there_is_told_without_starting_anything(
    tmp_path: Path,
) -> None:
    for more in ({"command": ("no-such-program",)}, {"home": f"{tmp_path}/none"}):
        settings = ProgramSettings(**({"command": ("cat",)} | more))  # type: ignore[arg-type]
        _, ended = await heard(of(settings))
        assert isinstance(ended, ProviderRefused)
        assert "cannot run isolated" in str(ended)


async def test_its_own_file_may_lie_anywhere(tmp_path: Path) -> None:
    mine = tmp_path / "my-cli"
    mine.write_text("#!/bin/sh\nhead -c 5\n")
    mine.chmod(0o755)
    model = of(declared(str(mine)))
    assert model.name == "my-cli"
    assert (await heard(model))[0] == "Below"


async def test_what_it_keeps_is_in_its_home(tmp_path: Path) -> None:
    counting = "echo x >> $HOME/count; wc -l < $HOME/count"
    model = program(counting, home=str(tmp_path))
    assert [(await heard(model))[0] for _ in range(3)] == ["1", "2", "3"]
    lost = program(counting)
    assert [(await heard(lost))[0] for _ in range(2)] == ["1", "1"]


async def test_each_piece_is_heard() -> None:
    calls: list[None] = []
    request = asked("hi", heard=lambda: calls.append(None))
    await heard(program("echo one; sleep 0.02; echo two"), request)
    assert calls


def test_what_has_no_network_costs_nothing() -> None:
    assert not program("cat").has_key
    assert program("cat", network=True).has_key
    assert (program("cat").model, program("cat").max_tokens) == ("fake-model", 500)


def test_every_core_may_be_used_all_the_time() -> None:
    assert os.cpu_count()
    command = ProgramCommand("x", declared("x"))
    assert command.environment(Path("/tmp"))["PATH"] == "/usr/bin:/bin"
