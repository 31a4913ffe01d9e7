"""The command of llama.cpp as a model: no network, and weights that are random numbers.

Debian's build writes from a thread that its own end cuts off: an answer may lack its last words, or
all of them, and so may its complaints. It does so without us, too.
"""

import shutil
from pathlib import Path

import pytest

from agent.config import Secret
from agent.errors import TransientProviderError
from agent.net.http import HttpClient
from agent.providers.base import ChatResponse, DirectProvider
from agent.providers.create import service_provider
from agent.providers.settings import ProgramSettings, ProviderSettings
from tests.fakes.llm_talk import heard
from tests.fakes.sandbox import no_bubblewrap
from tests.fakes.tiny_gguf import write_tiny_model
from tests.structure.sources import ROOT

_UNPACKED = ROOT / ".barnacle" / "llama" / "llama-completion"
PROGRAM = shutil.which("llama-completion") or (str(_UNPACKED) if _UNPACKED.exists() else "")
ABSENT = (
    f"there is no llama-completion on the PATH or at {_UNPACKED}: run scripts/test, which unpacks "
    "Debian's package llama.cpp-tools"
)
pytestmark = [
    pytest.mark.skipif(not PROGRAM, reason=ABSENT),
    pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap()),
    pytest.mark.timeout(240),
]
# Fewer bytes that are no text than an answer may have, whatever random weights say
FEW_TOKENS = "16"
# Of as many, one is written to its end
TRIES = 8


def model(folder: Path, *options: str) -> DirectProvider:
    file = folder / "tiny.gguf"
    write_tiny_model(file)
    words = (PROGRAM, "-m", str(file), "-f", "/dev/stdin", "-t", "1", "--no-display-prompt")
    reads = (str(file), *((str(_UNPACKED.parent),) if _UNPACKED.exists() else ()))
    declared = ProgramSettings(
        command=(*words, *options),
        reads=reads,
        # Or it starts a debugger when it fails, which prints pages
        env={"GGML_NO_BACKTRACE": Secret("1")},
        memory_mb=512,
    )
    return service_provider(ProviderSettings(kind="program", program=declared), {}, HttpClient())


async def test_its_answer_is_what_it_writes_and_nothing_else(tmp_path: Path) -> None:
    asked = model(tmp_path, "-st", "-n", FEW_TOKENS, "--temp", "0")
    said = [await heard(asked) for _ in range(TRIES)]
    answers = [ended.text for _, ended in said if isinstance(ended, ChatResponse)]
    longest = max(answers, key=len, default="")
    assert 0 < len(longest) <= int(FEW_TOKENS)
    # Neither its log nor the prompt is in any
    assert all(longest.startswith(answer) for answer in answers)


@pytest.mark.parametrize(
    "options",
    [("--no-such-option",), ("-m", "/nowhere/model.gguf"), ("-c", "64", "-no-cnv")],
    ids=["option", "model", "window"],
)
async def test_what_it_cannot_do_is_no_answer(tmp_path: Path, options: tuple[str, ...]) -> None:
    _, ended = await heard(model(tmp_path, "-n", FEW_TOKENS, *options))
    assert not isinstance(ended, ChatResponse)
    if options == ("--no-such-option",):
        assert isinstance(ended, TransientProviderError)
        assert "invalid argument: --no-such-option" in str(ended)
