"""The questions of one platform: what its table must say, asked until the platform takes it."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from agent.channels.catalog import platform
from agent.channels.platform import Platform, SetupKey
from agent.channels.settings import ChannelsSettings
from agent.config import decode
from agent.errors import ConfigRefused
from agent.provision.dialog import KEPT, Asker, Screen
from agent.provision.key_proof import Proof
from agent.provision.toml_text import Table, dumps

_PUSHED = (
    "This platform sends messages to the gateway, which accepts connections only "
    "from this machine: run a reverse proxy with a host name and a certificate "
    "that forwards them (see [gateway] in `barnacle check --example`)."
)
# What the system and the agent need with their embedding model, with something to spare
_AGENT_MB = 320


class PlatformQuestions(Struct, frozen=True):
    """One conversation.

    Args:
        before: the platform's table that there is; empty for none.
        has: whether a secret of that key is kept.
        prove: asks the platform itself.
        memory_mb: of this machine; 0 where that is not known.
    """

    screen: Screen
    platform: Platform
    before: Table
    has: Callable[[str], bool]
    prove: Callable[[ChannelsSettings], Proof]
    memory_mb: int = 0

    def table(self) -> Table:
        """Return the configuration table, with stars for secrets that are kept."""
        self.screen.say(f"{self.platform.name}: {self.platform.about}.")
        if self.platform.is_pushed:
            self.screen.say(_PUSHED)
        if self.platform.program_mb and self.memory_mb:
            self._say_memory()
        while True:
            table = {**self.before}
            for wanted in self.platform.wanted:
                if _is_asked(wanted, table):
                    self._ask(wanted, table)
                else:
                    # Of an earlier answer nothing stays that would be used instead
                    table.pop(wanted.key, None)
                    table.pop(f"{wanted.key}_file", None)
            if self._stands(table):
                return table

    def _say_memory(self) -> None:
        needed_mb = self.platform.program_mb + _AGENT_MB
        if self.memory_mb < needed_mb:
            self.screen.say(
                f"This machine has {self.memory_mb} MB of memory. {self.platform.name} needs a "
                f"program that takes {self.platform.program_mb} MB and more beside the agent, so "
                f"{needed_mb} MB in all: let that program run on another machine, or take another "
                "platform."
            )

    def _ask(self, wanted: SetupKey, table: Table) -> None:
        if wanted.how:
            self.screen.say(wanted.how)
        asker = Asker(self.screen)
        while True:
            if wanted.is_secret:
                answer = asker.secret(wanted.question, may_keep=self.has(wanted.key))
            else:
                answer = asker.text(wanted.question, _shown(table.get(wanted.key)))
            if answer or not wanted.is_needed or table.get(f"{wanted.key}_file"):
                break
            asker.complain("a value is required")
        if wanted.is_list:
            table[wanted.key] = [one.strip() for one in answer.split(",") if one.strip()]
        elif answer:
            table[wanted.key] = answer
        else:
            table.pop(wanted.key, None)

    def _stands(self, table: Table) -> bool:
        """Return true if the table is valid and the platform accepts it."""
        asker = Asker(self.screen)
        try:
            channels = decode(
                dumps({self.platform.name: table}), ChannelsSettings, Path("channels")
            )
        except ConfigRefused as err:
            for line in str(err).splitlines():
                asker.complain(line.removeprefix("channels: "))
            return False
        if KEPT in table.values():
            # What is kept was taken before, and is not read to be asked about
            return True
        self.screen.say("Testing it ...")
        return asker.stands(self.prove(channels))


def _is_asked(wanted: SetupKey, table: Table) -> bool:
    has_other = bool(wanted.unless) and bool(table.get(wanted.unless))
    return not has_other and (not wanted.only_with or bool(table.get(wanted.only_with)))


def with_platform(table: Table, before: Table, name: str, said: Table) -> Table:
    """`table` with what was said of a platform, and with what that needs besides."""
    channels = table.get("channels")
    others = channels if isinstance(channels, dict) else {}
    is_missing = _comes_by_gateway(name, said) and "gateway" not in before
    gateway: Table = {"gateway": {}} if is_missing else {}
    return {**table, **gateway, "channels": {**others, name: said}}


def _comes_by_gateway(name: str, said: Table) -> bool:
    there = platform(name)
    try:
        channels = decode(dumps({name: said}), ChannelsSettings, Path("channels"))
        return there.comes_by_gateway(channels, {})
    except ConfigRefused:
        # Stars for what is kept: whoever kept it had what it needs
        return there.is_pushed


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value)
    return "" if value is None else str(value)
