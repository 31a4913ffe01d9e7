"""Settings of one language model: its service, its address, its limits."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from agent.config import ConfigSection, Secret
from agent.providers import catalog
from agent.providers.base import DEFAULT_MAX_TOKENS, DEFAULT_TEMPERATURE
from agent.providers.template_names import TEMPLATE_NAMES

# Not the names of services
AUTO = "auto"
OFFLINE = "offline"
# A program in place of a service
PROGRAM = catalog.PROGRAM.name
# The prompt and one tool take half of it
LEAST_CONTEXT_TOKENS = 1024
# Asked of Ollama: most models on a machine of one's own can have it
OLLAMA_CONTEXT_TOKENS = 16_384
# What a model's name begins with where it is the name of a route
HINT = "hint:"


# Where the text of a request goes in a command
PROMPT_WORD, SYSTEM_WORD, MODEL_WORD = "{prompt}", "{system}", "{model}"
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"})
_Word = Annotated[str, Meta(min_length=1)]
_Place = Annotated[str, Meta(max_length=200)]
_Patterns = tuple[Annotated[str, Meta(min_length=1, max_length=500)], ...]


# Of an output, the keys that lead to a value in JSON
_PLACES = ("answer", "delta", "end", "error", "input_tokens", "output_tokens")


def _refuse_bad_patterns(key: str, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as err:
            raise ValueError(f"{key} has an invalid pattern {pattern!r}: {err}") from err


class ProgramOutput(ConfigSection, frozen=True, kw_only=True):
    """Form of what a program prints, and the places of what counts in it."""

    # text: all of it is the answer. json: one document. jsonl: a document on each line
    form: Literal["text", "json", "jsonl"] = "text"
    # The whole answer, such as "result" or "[type=result].result"
    answer: _Place = ""
    # A piece of the answer, shown at once; jsonl only
    delta: _Place = ""
    # A line that has it ends the answer, and without one it was cut; jsonl only
    end: _Place = ""
    # What is there instead of an answer when the program fails
    error: _Place = ""
    input_tokens: _Place = ""
    output_tokens: _Place = ""
    # What stands before an answer, such as "> "; text only
    mark: Annotated[str, Meta(max_length=40)] = ""
    # Patterns of lines that are no part of an answer; text only
    leave_out: _Patterns = ()

    def __post_init__(self) -> None:
        if self.form == "text":
            if any(getattr(self, field) for field in _PLACES):
                raise ValueError('form must be "json" or "jsonl" for places in the output')
            _refuse_bad_patterns("leave_out", self.leave_out)
            return
        if self.mark or self.leave_out:
            raise ValueError('form must be "text" for mark and leave_out')
        from agent.providers.program.place import parse  # noqa: PLC0415 - few declare a program

        for field in _PLACES:
            try:
                parse(getattr(self, field))
            except ValueError as err:
                raise ValueError(f"{field} is invalid: {err}") from err
        if self.form == "json" and (self.delta or self.end):
            raise ValueError('form must be "jsonl" for delta and end')
        if not self.answer and not self.delta:
            raise ValueError("answer must be the place of the answer, such as result")


class ProgramComplaints(ConfigSection, frozen=True, kw_only=True):
    """Patterns for what a program says when it fails; they go before the usual ones."""

    rate_limit: _Patterns = ()
    credentials: _Patterns = ()
    quota: _Patterns = ()
    busy: _Patterns = ()
    too_long: _Patterns = ()
    no_model: _Patterns = ()

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            _refuse_bad_patterns(field, getattr(self, field))


class ProgramSettings(ConfigSection, frozen=True, kw_only=True):
    """Declaration of a program that answers as a model; it runs isolated, never in a shell."""

    # The program and its words. {prompt}, {system} and {model} are filled in; without {prompt} it
    # reads the prompt on its standard input
    command: tuple[str, ...] = ()
    # Whether it has the network of this machine
    network: bool = False
    # Folder where it keeps what it needs, such as its sign-in; "" is an empty one, lost afterwards.
    # The service has /var/lib/barnacle-program instead
    home: str = ""
    # Further files and folders of this machine that it can read
    reads: tuple[_Word, ...] = ()
    # What it is told besides PATH, LANG, HOME and TERM; every value counts as a secret
    env: dict[str, Secret] = msgspec.field(default_factory=dict)
    # Variables of the agent's own environment that it is told, too
    pass_env: tuple[_Word, ...] = ()
    # The variable in which it gets the key of `api_key`, `more_keys` or the environment
    key_variable: str = ""
    # Memory that it may make its own
    memory_mb: Annotated[int, Meta(ge=16, le=65_536)] = 256
    # Longest time without a byte of output, after the first
    silence_timeout_s: Annotated[float, Meta(ge=1, le=3600)] = catalog.OWN_MACHINE_PATIENCE_S
    # Most that it may print
    output_kb: Annotated[int, Meta(ge=1, le=16_384)] = 1024
    output: ProgramOutput = ProgramOutput()
    failures: ProgramComplaints = ProgramComplaints()

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            raise ValueError('command must be the program and its words, such as ["llm"]')
        # A program in a folder that is not named is whatever somebody put there
        if "/" in self.command[0] and not self.command[0].startswith("/"):
            raise ValueError("command must name its program by full path or by name alone")
        if "{" in self.command[0]:
            raise ValueError("command must begin with a program, not with a placeholder")
        shells = [word for word in self.command if word.rpartition("/")[2] in _SHELLS]
        said = [word for word in self.command if PROMPT_WORD in word or SYSTEM_WORD in word]
        if shells and said:
            raise ValueError(
                "command must not put a conversation into a shell's words, where it could be run: "
                f"leave out {said[0]!r}, and it comes on standard input"
            )
        if self.home and not self.home.startswith("/"):
            raise ValueError("home must be a full path")
        if any(not path.startswith("/") for path in self.reads):
            raise ValueError("reads must be full paths")
        self._refuse_variables()

    def secrets(self, environ: Mapping[str, str]) -> tuple[Secret, ...]:
        """Return every value that must stay secret, those of the agent's environment too."""
        values = (environ.get(name, "").strip() for name in (*self.pass_env, self.key_variable))
        # What has several lines is no key
        passed = (Secret(value) for value in values if value and value.isprintable())
        return (*self.env.values(), *passed)

    def _refuse_variables(self) -> None:
        named = {"env": self.env, "pass_env": self.pass_env}
        named["key_variable"] = (self.key_variable,) if self.key_variable else ()
        if not any(named.values()):
            return
        from agent.security.environment import complaint_about_server  # noqa: PLC0415 - as above

        for key, names in named.items():
            for name in names:
                if complaint := complaint_about_server(name):
                    raise ValueError(f"{key} is refused: {complaint}")


class ProviderSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of one model service."""

    # auto: the service that there is a key or a base_url for, else offline
    kind: Annotated[str, Meta(min_length=1, max_length=2000)] = AUTO
    # Empty: the service's usual one
    model: Annotated[str, Meta(max_length=200)] = ""
    # Empty: where the service is known to be
    base_url: Annotated[str, Meta(max_length=2000)] = ""
    # Empty: the service's own variable, BARNACLE_API_KEY, API_KEY in the environment
    api_key: Secret = Secret()
    # Further keys of the same service, used in turn when one is asked too often
    more_keys: tuple[Secret, ...] = ()
    # Who answers when this service does not: names, each with ":" and a model or without
    fallbacks: tuple[Annotated[str, Meta(min_length=1, max_length=400)], ...] = ()
    # Silence after which the next fallback is asked too; the first that speaks answers. 0: never
    fallback_after_s: Annotated[float, Meta(ge=0, le=600)] = 6.0
    # Whether the board, files and memory are worked in words when no model answers
    offline_last: bool = True
    temperature: Annotated[float, Meta(ge=0, le=2)] = DEFAULT_TEMPERATURE
    # Longest answer to one request
    max_tokens: Annotated[int, Meta(ge=16, le=1_000_000)] = DEFAULT_MAX_TOKENS
    # Window of the model. Ollama is asked for it, and it takes memory where the model runs; 0:
    # 16,384 there, elsewhere what the service says
    context_tokens: Annotated[int, Meta(ge=0, le=10_000_000)] = 0
    # auto: the service's own way, in words where it refuses that; words also help where a local
    # server takes tools and loses them; grammar holds the model to valid calls where a server can
    tool_calls: Literal["auto", "native", "words", "grammar"] = "auto"
    # Template in which the model writes calls as text; empty: it is learnt from its answers
    template: Annotated[str, Meta(max_length=40)] = ""
    # auto: what is known of the model by its service and name
    vision: Literal["auto", "yes", "no"] = "auto"
    # Longest wait for a whole answer
    timeout_s: Annotated[float, Meta(ge=1, le=3600)] = 120.0
    # Longest wait for its beginning: a local model may have to be loaded first
    first_byte_timeout_s: Annotated[float, Meta(ge=1, le=600)] = 30.0
    # The program to start, for kind = "program"
    program: ProgramSettings | None = None

    def __post_init__(self) -> None:
        if 0 < self.context_tokens < LEAST_CONTEXT_TOKENS:
            raise ValueError(f"context_tokens must be 0 or at least {LEAST_CONTEXT_TOKENS}")
        if self.template and self.template not in TEMPLATE_NAMES:
            names = ", ".join(TEMPLATE_NAMES)
            raise ValueError(f"template must be empty or one of {names}, not {self.template!r}")
        if self.kind == PROGRAM or self.program is not None:
            self._check_program()
            return
        known = catalog.OPENAI if self.kind in {AUTO, OFFLINE} else catalog.find(self.kind)
        if self.base_url or known.url:
            endpoint(self.base_url or known.url, known.usual_path)
        elif self.kind not in {AUTO, OFFLINE}:
            raise ValueError(f"{known.name} needs base_url, such as {known.own_url}")

    def _check_program(self) -> None:
        if self.kind != PROGRAM:
            raise ValueError(f'kind must be "{PROGRAM}" for a program')
        if self.program is None:
            raise ValueError("program must be a table with the command of the program")
        if self.base_url:
            raise ValueError("base_url goes with a service, not with a program")
        if self.tool_calls in {"native", "grammar"}:
            raise ValueError('tool_calls must be "auto" or "words" for a program')
        if self.vision == "yes":
            raise ValueError('vision must be "auto" or "no": a program cannot be shown pictures')
        if (self.api_key or self.more_keys) and not self.program.key_variable:
            raise ValueError("api_key needs program.key_variable, the name that the program reads")


def endpoint(base_url: str, usual_path: str = "/v1") -> str:
    """Return the address that a wire format's paths are added to.

    Raises:
        ValueError: not an address of a service.
    """
    refusal = "base_url must look like https://api.example.org/v1"
    try:
        parts = urlsplit(base_url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError as err:
        raise ValueError(refusal) from err
    is_plain = base_url.isascii() and base_url.isprintable() and " " not in base_url
    if parts.scheme not in {"http", "https"} or not has_host or not is_plain:
        raise ValueError(refusal)
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("base_url must have no password, query or fragment; use api_key")
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    # Who gives only a host means the service's usual path
    return f"{parts.scheme}://{parts.netloc}{path or usual_path}"
