"""File of a backup and the secret that opens it, as a command line gives them."""

import os
import sys
from argparse import Namespace
from pathlib import Path

from agent.backup.encryption import Keys, identities_of
from agent.backup.passphrase import HEADER_BYTES, is_for_passphrase
from agent.channels.credentials import one_line
from agent.cli.output import ask_secret
from agent.config import expanded
from agent.errors import BadArguments


def keys_of(arguments: Namespace) -> Keys:
    """Return what opens the file; a passphrase is asked for where it needs one."""
    if arguments.key:
        path = expanded(arguments.key, os.environ)
        return Keys(identities=identities_of(path.read_text("utf-8", "replace")))
    if arguments.passphrase_file:
        return Keys(passphrase_of(arguments.passphrase_file))
    with file_of(arguments).open("rb") as file:
        if not is_for_passphrase(file.read(HEADER_BYTES)):
            raise BadArguments("it was encrypted to a key: name the file of the secret one, --key")
    if not sys.stdin.isatty():
        raise BadArguments("this is no terminal to ask for the passphrase in: --passphrase-file")
    return Keys(ask_secret("Passphrase of the backup: "))


def passphrase_of(name: str) -> str:
    if not name:
        return ""
    path = expanded(name, os.environ)
    text = one_line(path.read_text("utf-8", "replace"), str(path)).reveal()
    if not text:
        raise BadArguments(f"{path} is empty: it should hold the passphrase as its one line")
    return text


def file_of(arguments: Namespace) -> Path:
    path = expanded(arguments.file, os.environ)
    if not path.is_file():
        raise BadArguments(f"{path} is no file")
    return path
