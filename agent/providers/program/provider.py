"""Program that answers as a model: one process for each request, isolated, never in a shell.

It takes a conversation as text and prints its answer. It takes no tools: `prompted/` describes them
in words and reads its calls. Its failures become the errors that every service has.
"""

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path

from msgspec import Struct, field

from agent.errors import ContextOverflow, ProviderRefused, ToolsUnsupported, TransientProviderError
from agent.providers.answer import AnswerBuilder
from agent.providers.base import (
    Capabilities,
    ChatRequest,
    ChatResponse,
    DirectProvider,
    TextDelta,
)
from agent.providers.credentials import Credential
from agent.providers.message_order import well_formed
from agent.providers.program import complaint
from agent.providers.program.complaint import AskedProgram
from agent.providers.program.isolation import ProgramIsolation, ProgramPlace
from agent.providers.program.output import MAX_COMPLAINT_CHARS, OutputReader, reader_of
from agent.providers.program.prompt import WrittenPrompt, written
from agent.providers.program.run import ProgramRun
from agent.providers.program.terminal import plain
from agent.providers.reader import RequestTimeouts
from agent.providers.service_json import WireError
from agent.providers.settings import MODEL_WORD, PROMPT_WORD, SYSTEM_WORD, ProgramSettings
from agent.providers.wire import Sampling, ToldError
from agent.security.environment import LANG, PATH
from agent.security.redact import Redactor
from agent.security.sandbox.base import MAX_FILE_BYTES, Sandbox, SandboxJob, SandboxOutcome

_log = logging.getLogger(__name__)

# Of all words of a command as JSON: what the sandbox of systemd takes, less its own words
MAX_WORDS_BYTES = 56 * 1024
# Many times the window of any model
MAX_PROMPT_BYTES = 8 * 1024 * 1024
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@+-]{0,199}", re.ASCII)
_KB = 1024


class ProgramCommand(Struct, frozen=True):
    """A declared program with the key that it is given.

    Args:
        environ: the agent's own environment, of which the declaration names what is passed on.
    """

    name: str
    declared: ProgramSettings
    credential: Credential | None = None
    environ: Mapping[str, str] = field(default_factory=dict)

    def environment(self, home: Path) -> dict[str, str]:
        declared = self.declared
        passed = {name: self.environ[name] for name in declared.pass_env if name in self.environ}
        told = {name: value.reveal() for name, value in declared.env.items()}
        if self.credential is not None:
            told[declared.key_variable] = self.credential.key.reveal()
        usual = {"PATH": PATH, "LANG": LANG, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1"}
        return {**usual, **passed, **told}

    def words(self, prompt: WrittenPrompt, model: str, own_model: str) -> tuple[list[str], bytes]:
        """Return the command's words, and its standard input.

        Args:
            own_model: what it asks by itself, where the command names no model.

        Raises:
            ProviderRefused: the name of the model cannot be a word.
            ContextOverflow: the conversation is too long for this.
        """
        self._check_model(model, own_model)
        text = prompt.conversation if self._takes(SYSTEM_WORD) else prompt.whole
        filled = {PROMPT_WORD: text, SYSTEM_WORD: prompt.system, MODEL_WORD: model}
        words = [_filled(word, filled) for word in self.declared.command]
        given = b"" if self._takes(PROMPT_WORD) else text.encode()
        if len(json.dumps(words)) > MAX_WORDS_BYTES:
            raise ContextOverflow(
                f"the conversation is too long for the words of a command of {self.name}: leave "
                f"{PROMPT_WORD} out of program.command if it reads its standard input"
            )
        if len(given) > MAX_PROMPT_BYTES:
            raise ContextOverflow(f"the conversation has more than {MAX_PROMPT_BYTES // _KB} KB")
        return words, given

    def asked(self, model: str) -> AskedProgram:
        """Return the program for error messages."""
        key = () if self.credential is None else (self.credential.key,)
        redactor = Redactor((*key, *self.declared.secrets(self.environ)))
        source = "" if self.credential is None else self.credential.source
        return AskedProgram(self.name, model, source, self.declared.failures, redactor)

    def _takes(self, placeholder: str) -> bool:
        return any(placeholder in word for word in self.declared.command)

    def _check_model(self, model: str, own_model: str) -> None:
        if not self._takes(MODEL_WORD):
            if model != own_model:
                raise ProviderRefused(
                    f"{self.name} is not told which model to ask: put {MODEL_WORD} into "
                    f"program.command to ask {model}"
                )
        elif not _MODEL.fullmatch(model):
            raise ProviderRefused(f"{model!r} cannot be the name of a model of {self.name}")


def _filled(word: str, texts: Mapping[str, str]) -> str:
    """Return a word with its placeholders filled in, each once: no text is looked at again."""
    parts = re.split(f"({'|'.join(map(re.escape, texts))})", word)
    return "".join([texts.get(part, part) for part in parts])


class ProgramProvider(DirectProvider):
    """Provider of one program with one key.

    Args:
        sampling: its model, for those that have several; temperature and length are the program's.
        context_tokens: the window of its model; None where nobody says.
    """

    def __init__(
        self,
        command: ProgramCommand,
        sampling: Sampling,
        patience: RequestTimeouts,
        isolation: ProgramIsolation | None = None,
        context_tokens: int | None = None,
    ) -> None:
        self.name = command.name
        self._command = command
        self._sampling = sampling
        self._patience = patience
        self._isolation = isolation or ProgramIsolation()
        self._context_tokens = context_tokens
        self._place: ProgramPlace | None = None

    @property
    def model(self) -> str:
        return self._sampling.model

    @property
    def max_tokens(self) -> int:
        return self._sampling.max_tokens

    @property
    def has_key(self) -> bool:
        """Return true if somebody may send a bill: what has no network is this machine's own."""
        return self._command.declared.network

    async def chat(self, request: ChatRequest) -> ChatResponse:
        async with aclosing(self.stream(request)) as items:
            async for item in items:
                if isinstance(item, ChatResponse):
                    return item
        raise AssertionError("a stream ends with a response or an error")  # pragma: no cover

    async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta | ChatResponse, None]:
        """Yield as the base does; closing the generator early ends the program at once."""
        if request.tools:
            raise ToolsUnsupported(f"{self.name} takes no tools", is_lasting=True)
        sampling = self._sampling.of(request)
        answer = AnswerBuilder("program", sampling.model)
        asked = self._command.asked(sampling.model)
        reading = _Reading(reader_of(self._command.declared), answer, asked)
        run = ProgramRun(self.name, *await self._job(request, sampling))
        async with aclosing(run.pieces(self._patience)) as pieces:
            async for piece in pieces:
                if request.heard is not None:
                    request.heard()
                if text := reading.feed(piece):
                    yield TextDelta(text)
                if answer.is_closed:
                    await run.leave()
                    break
        if not answer.is_closed:
            if text := reading.close(run.outcome()):
                yield TextDelta(text)
            answer.end()
        yield answer.response(sampling.max_tokens)

    def capabilities(self, model: str | None = None) -> Capabilities:
        streams = self._command.declared.output.form != "json"
        return Capabilities(streaming=streams, context_tokens=self._context_tokens)

    async def _job(self, request: ChatRequest, sampling: Sampling) -> tuple[Sandbox, SandboxJob]:
        declared = self._command.declared
        place = self._place
        if place is None:
            place = await asyncio.to_thread(self._isolation.place, declared)
        if place.sandbox is None:
            raise ProviderRefused(f"{self.name} cannot run isolated: {place.trouble}")
        self._place = place
        prompt = written(well_formed(request.messages))
        words, given = self._command.words(prompt, sampling.model, self._sampling.model)
        job = SandboxJob(
            words,
            self._command.environment(place.told_home),
            needs=_needs(declared),
            given=given,
            home=place.home,
            is_online=declared.network,
            file_bytes=MAX_FILE_BYTES,
            timeout_s=self._patience.total_s,
            # On every core at once
            cpu_s=self._patience.total_s * (os.cpu_count() or 1),
            memory_bytes=declared.memory_mb * _KB * _KB,
            stream_bytes=declared.output_kb * _KB,
        )
        return place.sandbox, job


class _Reading:
    """Reading of one answer; whatever is wrong with it becomes an error of a provider."""

    def __init__(self, reader: OutputReader, answer: AnswerBuilder, asked: AskedProgram) -> None:
        self._reader = reader
        self._answer = answer
        self._asked = asked
        self._has_shown = False

    def feed(self, piece: bytes) -> str:
        """Return the text to show now.

        Raises:
            ProviderError: it is an error, or no answer.
        """
        try:
            text = self._reader.feed(piece, self._answer)
        except ToldError as err:
            raise complaint.explain_told(self._asked, err.body) from err
        except WireError as err:
            raise self._invalid(err) from err
        self._has_shown = self._has_shown or bool(text)
        return text

    def close(self, outcome: SandboxOutcome) -> str:
        """Return the rest of the text; raise as `feed` does."""
        name = self._asked.name
        if outcome.ended:
            raise TransientProviderError(f"{name} was ended: {outcome.ended}{self._answer.place()}")
        problem: TransientProviderError | None = None
        text = ""
        try:
            text = self._reader.close(self._answer)
        except ToldError as err:
            raise complaint.explain_told(self._asked, err.body) from err
        except WireError as err:
            problem = self._invalid(err)
        except TransientProviderError as err:
            problem = err
        if outcome.exit != 0 and not self._reader.is_marked:
            raise complaint.explain_end(self._asked, outcome.exit, *_said(outcome))
        self._refuse_complaint(text, outcome)
        if problem is not None:
            raise problem
        if outcome.exit != 0:
            _log.warning("provider: failed after the answer (is=%s, exit=%s)", name, outcome.exit)
        return text

    def _refuse_complaint(self, text: str, outcome: SandboxOutcome) -> None:
        """Refuse what a program prints in place of an answer when it says that all is well."""
        if self._has_shown:
            return
        is_short = len(text) <= MAX_COMPLAINT_CHARS
        if text and is_short and complaint.declared_kind(self._asked, text):
            raise complaint.explain_end(self._asked, outcome.exit, text)
        if not text and outcome.stderr.strip():
            raise complaint.explain_end(self._asked, outcome.exit, *_said(outcome))

    def _invalid(self, err: WireError) -> TransientProviderError:
        return TransientProviderError(f"{self._asked.name} printed an invalid answer: {err}")


def _said(outcome: SandboxOutcome) -> tuple[str, str]:
    """Return the text of both streams."""
    return plain(outcome.stdout.decode(errors="replace")), plain(
        outcome.stderr.decode(errors="replace")
    )


def _needs(declared: ProgramSettings) -> tuple[Path, ...]:
    """Return what it can read; its own file among it, wherever that lies."""
    program = Path(declared.command[0])
    is_elsewhere = program.is_absolute() and not program.is_relative_to("/usr")
    own = (program,) if is_elsewhere and program.is_file() else ()
    return (*own, *map(Path, declared.reads))
