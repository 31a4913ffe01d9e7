"""Runs the chosen command and turns whatever goes wrong in it into lines a person can act on.

The module of a command is `agent/cli/<command>.py`, loaded when it is chosen; its
`run(arguments)` returns the exit status.
"""

import errno
import importlib
import io
import logging
import sys
import traceback
from argparse import Namespace
from collections.abc import Iterator, Sequence

from agent.cli import exits
from agent.cli.parser import parser
from agent.errors import BadArguments, BarnacleError, ConfigRefused
from agent.system import garbage
from agent.text.printable import printable_line

# An error is a sentence; a longer one is somebody else's text
_MAX_ERROR_CHARS = 600

_log = logging.getLogger(__name__)
# Without any handler, logging would print warnings among the command's own lines
_SILENT = logging.NullHandler()


def run(words: Sequence[str]) -> int:
    """The exit status; only KeyboardInterrupt, usage and what is wrong with the output leave."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that is not UTF-8 shows a question mark instead of failing
            stream.reconfigure(errors="replace")
    top = parser(words[0] if words else "")
    arguments = top.parse_args(words)
    if arguments.command is None:
        top.print_help()
        return exits.USAGE
    if not getattr(arguments, "debug", False):
        logging.getLogger().addHandler(_SILENT)
    return _guarded(arguments)


def complain(message: str) -> None:
    """One line on stderr, whatever the message holds."""
    print(f"barnacle: {printable_line(message, _MAX_ERROR_CHARS)}", file=sys.stderr)


def _guarded(arguments: Namespace) -> int:
    try:
        command = importlib.import_module(f"agent.cli.{arguments.command}")
        garbage.settle()
        return int(command.run(arguments))
    except BrokenPipeError:
        raise
    except (ConfigRefused, BadArguments) as err:
        for line in str(err).splitlines():
            complain(line)
        return exits.USAGE
    except BarnacleError as err:
        complain(str(err))
    except OSError as err:
        if err.errno == errno.ENOSPC and err.filename is None:
            # What is full besides the output is a `StorageFull`, or has a name
            raise
        complain(_sentence(err))
    except ExceptionGroup as group:
        _complain_of_all(group, arguments)
    except Exception as err:  # noqa: BLE001  # the last line of defence: a person sees no traceback
        _complain_of_bug(err, arguments)
    return exits.FAILED


def _complain_of_all(group: ExceptionGroup[Exception], arguments: Namespace) -> None:
    for err in _leaves(group):
        if isinstance(err, BarnacleError):
            complain(str(err))
        else:
            _complain_of_bug(err, arguments)


def _complain_of_bug(err: Exception, arguments: Namespace) -> None:
    if getattr(arguments, "debug", False):
        traceback.print_exception(err)
        return
    complain(
        f"unexpected {type(err).__name__}: {err} (this is a bug in Barnacle: run the "
        "command again with --debug and report the output)"
    )
    _log.error("cli: command failed (command=%s)", arguments.command, exc_info=err)


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for err in group.exceptions:
        if isinstance(err, ExceptionGroup):
            yield from _leaves(err)
        else:
            yield err


def _sentence(err: OSError) -> str:
    if err.filename is None or err.strerror is None:
        return str(err)
    return f"{err.filename}: {err.strerror}"
