from pathlib import Path

import pytest

from agent.config import ConfigSection, decode
from agent.errors import ConfigRefused
from agent.providers.settings import ProgramSettings, ProviderSettings


class File(ConfigSection, frozen=True, kw_only=True):
    provider: ProviderSettings = ProviderSettings()


def loaded(text: str) -> ProviderSettings:
    return decode(text, File, Path("barnacle.toml")).provider


def with_program(lines: str, provider: str = "") -> str:
    return f'[provider]\nkind = "program"\n{provider}\n[provider.program]\n{lines}\n'


def test_a_command_is_enough() -> None:
    settings = loaded(with_program('command = ["llm"]'))
    assert settings.program == ProgramSettings(command=("llm",))
    assert not settings.program.network


def test_every_key_can_be_set() -> None:
    settings = loaded(
        """
        [provider]
        kind = "program"
        model = "opus"
        api_key = "sk-canary"
        [provider.program]
        command = ["/opt/claude/claude", "-p", "--model={model}"]
        network = true
        home = "/srv/claude"
        reads = ["/opt/claude"]
        pass_env = ["AWS_REGION"]
        env = { CLAUDE_TOKEN = "t-canary-1" }
        key_variable = "ANTHROPIC_API_KEY"
        memory_mb = 512
        silence_timeout_s = 30
        output_kb = 256
        [provider.program.output]
        form = "jsonl"
        delta = "event[type=content_block_delta].delta.text"
        end = "[type=result].type"
        error = "[is_error=true].result"
        input_tokens = "usage.input_tokens"
        [provider.program.failures]
        rate_limit = ["^Claude usage limit"]
        """
    )
    assert settings.program is not None
    assert settings.program.output.form == "jsonl"
    assert settings.program.failures.rate_limit == ("^Claude usage limit",)
    assert "canary" not in repr(settings)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "command"),
        ('command = ["bin/llm"]', "`provider.program.command`: must name its program by full path"),
        ('command = ["{prompt}"]', "must begin with a program"),
        ('command = [""]', "command"),
        (
            'command = ["sh", "-c", "llm {prompt}"]',
            "must not put a conversation into a shell's words",
        ),
        ('command = ["env", "/bin/bash", "-c", "{system}"]', "must not put a conversation into a"),
        ('command = ["x"]\nhome = "here"', "`provider.program.home`: must be a full path"),
        ('command = ["x"]\nreads = ["here"]', "`provider.program.reads`: must be full paths"),
        ('command = ["x"]\nenv = { LD_PRELOAD = "x" }', "`provider.program.env`: is refused"),
        ('command = ["x"]\npass_env = ["PATH"]', "`provider.program.pass_env`: is refused"),
        ('command = ["x"]\nkey_variable = "a b"', "`provider.program.key_variable`: is refused"),
        ('command = ["x"]\nmemory_mb = 1', "memory_mb"),
        ('command = ["x"]\nshell = true', "unknown"),
        (
            'command = ["x"]\noutput = { answer = "a" }',
            '`provider.program.output.form`: must be "json',
        ),
        ('command = ["x"]\noutput = { form = "json" }', "answer`: must be the place"),
        (
            'command = ["x"]\noutput = { form = "json", answer = "a", mark = "> " }',
            'must be "text" for mark and leave_out',
        ),
        (
            'command = ["x"]\noutput = { leave_out = ["("] }',
            "`provider.program.output.leave_out`: has an invalid pattern",
        ),
        (
            'command = ["x"]\noutput = { form = "json", answer = "a", end = "b" }',
            'must be "jsonl" for delta and end',
        ),
        (
            'command = ["x"]\noutput = { form = "json", answer = "a b" }',
            "`provider.program.output.answer`: is invalid: 'a b' is no place in JSON",
        ),
        (
            'command = ["x"]\nfailures = { busy = ["("] }',
            "`provider.program.failures.busy`: has an invalid pattern '('",
        ),
        ('command = ["x"]\nfailures = { angry = ["x"] }', "angry"),
    ],
)
def test_a_mistake_is_named(lines: str, said: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        loaded(with_program(lines))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[provider]\nkind = "program"', "`provider.program`: must be a table"),
        ('[provider.program]\ncommand = ["x"]', '`provider.kind`: must be "program"'),
        (
            with_program('command = ["x"]', 'base_url = "http://x/v1"'),
            "`provider.base_url`: goes with a service",
        ),
        (with_program('command = ["x"]', 'tool_calls = "native"'), '"auto" or "words"'),
        (with_program('command = ["x"]', 'vision = "yes"'), "cannot be shown pictures"),
        (with_program('command = ["x"]', 'api_key = "k"'), "needs program.key_variable"),
    ],
)
def test_a_program_and_its_provider_belong_together(text: str, said: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        loaded(text)
    assert said in str(caught.value)


def test_what_it_is_told_stays_secret() -> None:
    program = ProgramSettings(command=("x",), pass_env=("ONE", "TWO", "NONE"), key_variable="KEY")
    environ = {"ONE": "canary-one", "TWO": "two\nlines", "KEY": "canary-key", "OTHER": "canary-x"}
    known = [secret.reveal() for secret in program.secrets(environ)]
    assert known == ["canary-one", "canary-key"]
