"""First start in a browser: the questions of `barnacle setup`, asked over lines.

A program of the agent's own user, which may ask services. On a card the files are root's: there a
program of root takes the answers over, as long as nobody has said anything before.
"""

import json
import re
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from agent.app.console.setup_lines import MAX_LINE_BYTES, SOCKET, SetupEnd, SetupLine, is_first
from agent.channels.settings import ChannelsSettings
from agent.cli.loop import run_in_loop
from agent.errors import BarnacleError, ConfigRefused
from agent.health.data_partition import unkept_text, why_unused
from agent.providers.settings import ProviderSettings
from agent.provision import settings_plan, wifi
from agent.provision.key_proof import Proof, prove_platform, prove_provider
from agent.provision.questions import SetupQuestions
from agent.provision.settings_plan import ProvisionPaths
from agent.provision.toml_text import Table
from agent.settings import Paths
from agent.system.programs import run_program

# Tables that the questions make; root takes no others
_TABLES = frozenset({"device", "wifi", "provider", "channels", "gateway"})
# Root checks every platform and writes some files, on a slow card
_TAKE_TIMEOUT_S = 60.0
_RESTART_TIMEOUT_S = 20.0
# A question ends with what Enter stands for
_USUAL = re.compile(r"^(?P<text>.*?)(?: \[(?P<usual>[^\]]*)\])?\s*\Z", re.DOTALL)
_HIDDEN = " (not shown)"
_CHOICES = {"Y/n": "y", "y/N": "n"}


class LineScreen:
    """Screen whose person sits at a browser: each line goes out, each answer comes in."""

    def __init__(self, said: BinaryIO, heard: BinaryIO) -> None:
        self._said = said
        self._heard = heard
        # Of the question that is asked next, where a yes to it writes everything
        self.about: tuple[str, ...] = ()

    def say(self, text: str) -> None:
        self.send(SetupLine(said=text))

    def ask(self, question: str) -> str:
        return self._answer(question, is_secret=False)

    def ask_secret(self, question: str) -> str:
        return self._answer(question.replace(_HIDDEN, "").strip(": "), is_secret=True)

    def send(self, line: SetupLine) -> None:
        self._said.write(msgspec.json.encode(line) + b"\n")
        self._said.flush()

    def _answer(self, question: str, *, is_secret: bool) -> str:
        found = _USUAL.match(question)
        text, usual = (found["text"], found["usual"] or "") if found else (question, "")
        self.send(
            SetupLine(
                asked=text,
                usual=_CHOICES.get(usual, usual),
                is_secret=is_secret,
                is_choice=usual in _CHOICES,
                is_last=bool(self.about),
                about=self.about,
            )
        )
        line = self._heard.readline(MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise EOFError("nobody answers any more")
        return msgspec.json.decode(line, type=str)


class _Asked(Struct, frozen=True):
    """Tries keys and tokens at their services."""

    def provider(self, given: ProviderSettings) -> Proof:
        return run_in_loop(prove_provider(given))

    def platform(self, name: str, channels: ChannelsSettings) -> Proof:
        with tempfile.TemporaryDirectory(prefix="barnacle-") as folder:
            return run_in_loop(prove_platform(name, channels, Paths(None, Path(folder))))


def converse(screen: LineScreen, config: Path | None, environ: Mapping[str, str]) -> SetupEnd:
    """Ask everything, and have it written; `config` is None on a card, where it is root's.

    Raises:
        BarnacleError: nothing was written.
        EOFError: the person has left.
    """
    if config is None and (why := why_unused()):
        raise ConfigRefused(unkept_text(why))
    places = None if config is None else ProvisionPaths(config, environ=environ)
    before = {} if places is None else settings_plan.existing(places.config)
    questions = SetupQuestions(screen, _Asked(), before)
    table = questions.of_machine() if places is None else {}
    table |= questions.of_agent()
    screen.about = tuple(table)
    if not questions.agrees("Is that all right? A yes writes it."):
        return SetupEnd.LEFT
    if places is None:
        _hand_over(table)
    else:
        take_first(table, places)
    return SetupEnd.KEPT


def take_first(table: Table, places: ProvisionPaths) -> None:
    """Write what was answered, unless somebody has said anything before.

    Raises:
        ConfigRefused: it is wrong, or too late.
        StorageFull: some of it was not kept.
    """
    if not is_first(places.config):
        raise ConfigRefused(
            "this device is set up already: change it on its page Settings, or with `barnacle "
            "setup` at the machine"
        )
    if others := sorted(table.keys() - _TABLES):
        raise ConfigRefused(f"setup: no question was about {', '.join(others)}")
    settings_plan.take(settings_plan.planned(table, "setup", places), places)


def _hand_over(table: Table) -> None:
    """Give the answers to root's program.

    Raises:
        ConfigRefused: it did not take them.
    """
    with socket.socket(socket.AF_UNIX) as way:
        way.settimeout(_TAKE_TIMEOUT_S)
        try:
            way.connect(str(SOCKET))
            way.sendall(json.dumps(table).encode() + b"\n")
            with way.makefile("rb") as answer:
                line = answer.readline(MAX_LINE_BYTES)
        except OSError as err:
            raise ConfigRefused(
                f"the program that writes it does not answer ({err}): write barnacle.toml on the "
                "card instead"
            ) from err
    problem = json.loads(line) if line else "the program that writes it failed"
    if problem:
        raise ConfigRefused(str(problem))


def take_over(heard: BinaryIO, said: BinaryIO, places: ProvisionPaths) -> bool:
    """Take answers over as root, from one line; say what is wrong with them in another."""
    problem = ""
    try:
        line = heard.readline(MAX_LINE_BYTES)
        table = json.loads(line) if line.endswith(b"\n") else None
        if not isinstance(table, dict):
            raise ConfigRefused("setup: that is no table")
        take_first(table, places)
        country = table.get("wifi", {}).get("country", "")
        if country and places.connections is not None:
            wifi.set_country(country)
    except (BarnacleError, OSError, ValueError) as err:
        problem = str(err)
    said.write(json.dumps(problem).encode() + b"\n")
    said.flush()
    return not problem


def restart() -> None:
    """Have the network and the agent begin anew with what was written."""
    for words in (
        # Its reload reads no connections (NetworkManager(8), SIGHUP)
        ("try-restart", "NetworkManager.service"),
        ("restart", "barnacle.service"),
    ):
        run_program(["systemctl", "--no-block", *words], _RESTART_TIMEOUT_S)


def main(words: list[str]) -> int:
    """Ask over standard input and output; the configuration's path, or none on a card."""
    screen = LineScreen(sys.stdout.buffer, sys.stdin.buffer)
    try:
        line = sys.stdin.buffer.readline()
        environ = msgspec.json.decode(line, type=dict[str, str])
        end = converse(screen, Path(words[0]) if words else None, environ)
    except EOFError:
        return 0
    except BarnacleError as err:
        for text in str(err).splitlines():
            screen.say(f"! {text}")
        end = SetupEnd.REFUSED
    screen.send(SetupLine(ended=end))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
