"""`barnacle models local FILE`: the model file that the device's own server may load.

Writes what barnacle-model-server.service reads: the file, its hash and the window. The server loads
this file and no other; a changed one is refused until the owner names it again.
"""

import hashlib
import os
from argparse import Namespace
from pathlib import Path

from agent.cli import exits
from agent.cli.output import say
from agent.errors import ConfigRefused
from agent.providers.settings import LEAST_CONTEXT_TOKENS
from agent.storage.files import write_atomic

# Where the units look
ENVIRONMENT_FILE = Path("/etc/barnacle/model.env")
# The socket of barnacle-model.socket
ADDRESS = "http://127.0.0.1:8090/v1"
# Fits a model of 4 billion parameters on a Pi 5 with 8 GB, and a prompt that is read in seconds
USUAL_CONTEXT_TOKENS = 4096
# Of the memory: the agent, its boards and the conversation's own memory need the rest
MOST_SHARE = 0.7
_MAGIC = b"GGUF"
_READ_BYTES = 1 << 20
_NEXT = """\
{file} is the local model (sha256 {sha256}).
Next:
  sudo systemctl enable --now barnacle-model.socket
and in barnacle.toml, as the model to ask:
  [provider]
  kind = "llamacpp"
  base_url = "{address}"
  model = "local"
  context_tokens = {context}
or, after a service in the cloud that does not answer:
  [provider]
  fallbacks = ["home"]
  [providers.home]
  kind = "llamacpp"
  base_url = "{address}"
  model = "local"
  context_tokens = {context}"""


def run(arguments: Namespace, environment_file: Path = ENVIRONMENT_FILE) -> int:
    if not arguments.file:
        raise ConfigRefused("name the model file: `barnacle models local /srv/models/MODEL.gguf`")
    file = Path(arguments.file).resolve()
    context = arguments.context or USUAL_CONTEXT_TOKENS
    if context < LEAST_CONTEXT_TOKENS:
        raise ConfigRefused(f"--context must be at least {LEAST_CONTEXT_TOKENS}")
    _check(file)
    sha256 = _sha256(file)
    if arguments.sha256 and arguments.sha256.lower() != sha256:
        raise ConfigRefused(f"{file} has the sha256 {sha256}, not the one given: fetch it again")
    _write(environment_file, f'MODEL="{file}"\nSHA256="{sha256}"\nCONTEXT="{context}"\n')
    say(_NEXT.format(file=file, sha256=sha256, address=ADDRESS, context=context))
    return exits.OK


def _check(file: Path) -> None:
    """Refuse what the server could not load.

    Raises:
        ConfigRefused: it is no model file, or too large.
    """
    if not str(file).isprintable() or set(str(file)) & set("\"'$\\ "):
        raise ConfigRefused(
            f"{file!s:.200} has signs in its path that units do not take: rename it"
        )
    if any(file.is_relative_to(place) for place in ("/home", "/root", "/var/lib/barnacle")):
        raise ConfigRefused(f"the server cannot read {file.parent}: put it into /srv/models")
    try:
        with file.open("rb") as opened:
            is_model = opened.read(len(_MAGIC)) == _MAGIC
        mode, size_bytes = file.stat().st_mode, file.stat().st_size
    except OSError as err:
        raise ConfigRefused(f"{file} cannot be read: {err.strerror}") from err
    if not is_model:
        raise ConfigRefused(f"{file} is no GGUF file: llama.cpp loads no other")
    if not mode & 0o004:
        raise ConfigRefused(f"the server may not read {file}: chmod a+r {file}")
    if size_bytes > MOST_SHARE * _memory_bytes():
        raise ConfigRefused(
            f"{file} has {size_bytes >> 20} MB, too much for this machine's "
            f"{_memory_bytes() >> 20} MB of memory: choose a smaller one, or a smaller quantization"
        )


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _write(path: Path, text: str) -> None:
    try:
        write_atomic(path, text.encode())
    except OSError as err:
        raise ConfigRefused(f"{path} cannot be written ({err.strerror}): use sudo") from err
