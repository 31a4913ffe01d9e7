"""The questions of `barnacle setup`: each answer is checked at once, nothing is kept here.

What comes of them is a table as `barnacle.toml` on a card would hold it.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from agent.channels.catalog import NAMES, platform
from agent.channels.settings import ChannelsSettings
from agent.config import decode
from agent.errors import ConfigRefused
from agent.machine.computer import total_memory_mb
from agent.providers import catalog
from agent.providers.catalog import KnownService
from agent.providers.section import MainProviderSettings
from agent.providers.settings import AUTO, OFFLINE, ProviderSettings
from agent.provision.dialog import KEPT, Asker, Screen
from agent.provision.key_proof import Proof, ProofVerdict
from agent.provision.platform_questions import PlatformQuestions, with_platform
from agent.provision.secret_values import Place
from agent.provision.settings import MachineSettings
from agent.provision.toml_text import Table, dumps

_FIRST_PLATFORM, _NONE = "telegram", "none"
_SOME_SERVICES = ("openai", "anthropic", "gemini", "openrouter", "groq", "mistral", "ollama")


# What goes with its service; limits on spending, prices, fallbacks and routes are about every one
_OF_SERVICE = frozenset(
    {
        "kind",
        "model",
        "base_url",
        "api_key",
        "more_keys",
        "max_tokens",
        "context_tokens",
        "tool_calls",
        "template",
        "vision",
        "first_byte_timeout_s",
        "program",
    }
)


class Prover(Protocol):
    """Asks whoever gave a key or a token whether it is good."""

    def provider(self, settings: ProviderSettings) -> Proof: ...

    def platform(self, name: str, channels: ChannelsSettings) -> Proof: ...


class SetupQuestions(Struct, frozen=True):
    """One conversation.

    Args:
        before: the configuration that there is.
        has: whether a secret of that place is kept, and need not be typed again.
    """

    screen: Screen
    prover: Prover
    before: Table
    has: Callable[[Place], bool] = lambda _place: False

    @property
    def _asker(self) -> Asker:
        return Asker(self.screen)

    def of_agent(self) -> Table:
        """The model service and the platforms."""
        table: Table = {"provider": self._provider()}
        for name in self._platforms():
            table = with_platform(table, self.before, name, self._platform(name))
        return table

    def of_machine(self) -> Table:
        """Name, place and network of a device that is ours."""
        device: Table = {}
        name = self._checked("Name of the device in the network?", "device", "hostname")
        zone = self._checked("Time zone, such as Europe/Berlin?", "device", "timezone")
        device |= {"hostname": name} if name else {}
        device |= {"timezone": zone} if zone else {}
        table: Table = {"device": device} if device else {}
        if self._asker.yes("Does the device use Wi-Fi?", usual=False):
            table["wifi"] = self._wifi()
        return table

    @property
    def _has_key(self) -> bool:
        return self.has(("provider", "api_key"))

    def agrees(self, question: str) -> bool:
        return self._asker.yes(question, usual=True)

    def _provider(self) -> Table:
        before = self._table("provider")
        self.screen.say("Without a language model the device understands simple orders only.")
        known = usual = self._kind(before)
        while True:
            kind = self._asker.text(
                f"Which model service? {', '.join(_SOME_SERVICES)}, {OFFLINE}, ...", usual
            )
            if kind == OFFLINE:
                return self._without_service(before)
            try:
                service = catalog.find(kind)
            except ValueError as err:
                self._asker.complain(str(err))
                continue
            is_same = kind == known
            base = before if is_same else _lasting(before)
            # Offline nobody knows any more whose key it is
            may_keep = is_same or (known == OFFLINE and self._is_key_of(service))
            table = self._asked_service(kind, service, base, may_keep=may_keep)
            if table is not None:
                return table
            usual = kind

    def _without_service(self, before: Table) -> Table:
        """Return the table for no service; a stored key goes only if the person says so."""
        table: Table = {**before, "kind": OFFLINE}
        table.pop("api_key", None)
        if self._has_key and self._asker.yes("Keep the stored API key for later?", usual=True):
            table["api_key"] = KEPT
        return table

    def _is_key_of(self, service: KnownService) -> bool:
        return self._has_key and self._asker.yes(
            f"Is the stored API key one of {service.name}?", usual=False
        )

    def _kind(self, before: Table) -> str:
        """Return the service that answers now; one without a name speaks as OpenAI's."""
        kind = str(before.get("kind") or AUTO)
        if kind != AUTO:
            return kind
        return "openai" if self._has_key or before.get("base_url") else OFFLINE

    def _asked_service(
        self, kind: str, service: KnownService, before: Table, *, may_keep: bool
    ) -> Table | None:
        """None where it is to be another service, or the same once more."""
        table: Table = {**before, "kind": kind}
        while True:
            if not service.url or before.get("base_url"):
                usual = str(before.get("base_url") or service.own_url)
                table["base_url"] = self._asker.text("Its address?", usual)
            key = self._asker.secret("Its API key", may_keep=self._has_key and may_keep)
            table.pop("api_key", None)
            if key:
                table["api_key"] = key
            elif service.needs_key and not table.get("base_url"):
                self._asker.complain(f"{service.name} needs an API key")
                continue
            proof = self._proof_of_service(table)
            if table.get("api_key") == KEPT or self._asker.stands(proof):
                return self._with_model(table, service, proof)
            if proof.verdict is ProofVerdict.UNKNOWN:
                return None

    def _proof_of_service(self, table: Table) -> Proof:
        if table.get("api_key") == KEPT:
            return Proof(ProofVerdict.UNKNOWN, "")
        try:
            settings = decode(dumps(table), MainProviderSettings, Path("provider"))
        except ConfigRefused as err:
            return Proof(ProofVerdict.REFUSED, str(err).removeprefix("provider: "))
        self.screen.say("Testing it ...")
        return self.prover.provider(settings)

    def _with_model(self, table: Table, service: KnownService, proof: Proof) -> Table:
        usual = str(table.get("model") or service.model or next(iter(proof.models), ""))
        while True:
            model = self._asker.text("Which model?", usual)
            if not model:
                self._asker.complain(f"{service.name} has no default model: enter the name of one")
                continue
            is_listed = not proof.models or model in proof.models
            if is_listed or self._asker.yes(
                f"The service does not list {model}. Use it anyway?", usual=False
            ):
                break
        return {**table, "model": model} if model != service.model else table

    def _platforms(self) -> tuple[str, ...]:
        """Those that are to be asked about."""
        there = tuple(name for name in self._table("channels") if name in NAMES)
        usual = ", ".join(there or (_FIRST_PLATFORM,))
        self.screen.say(
            f"Chat platforms for talking to the device: {', '.join(NAMES)}; or {_NONE}, "
            "for this machine only."
        )
        while True:
            said = self._asker.text("Which platforms, separated by commas?", usual)
            names = tuple(dict.fromkeys(re.split(r"[,\s]+", said.lower().strip(", "))))
            names = () if names == (_NONE,) else names
            if not (unknown := [name for name in names if name not in NAMES]):
                self._say_what_stays([name for name in there if name not in names])
                return names
            self._asker.complain(f"unknown platform {unknown[0]}")

    def _say_what_stays(self, names: list[str]) -> None:
        for name in names:
            self.screen.say(f"{name} stays: to end it, remove [channels.{name}] from the file.")

    def _platform(self, name: str) -> Table:
        before = self._table("channels").get(name)
        return PlatformQuestions(
            self.screen,
            platform(name),
            dict(before) if isinstance(before, dict) else {},
            lambda key: self.has(("channels", name, key)),
            lambda channels: self.prover.platform(name, channels),
            total_memory_mb(),
        ).table()

    def _wifi(self) -> Table:
        while True:
            wifi: Table = {"ssid": self._asker.text("Name of the Wi-Fi network?", "")}
            password = self._asker.secret("Its password", may_keep=self.has(("wifi", "password")))
            country = self._asker.text("Country, as two letters?", "").upper()
            wifi |= {"password": password} if password else {}
            wifi |= {"country": country} if country else {}
            if self._is_right({"wifi": wifi}):
                return wifi

    def _checked(self, question: str, table: str, key: str) -> str:
        while True:
            answer = self._asker.text(question, "")
            if not answer or self._is_right({table: {key: answer}}):
                return answer

    def _is_right(self, table: Table) -> bool:
        try:
            decode(dumps(table), MachineSettings, Path("setup"))
        except ConfigRefused as err:
            for line in str(err).splitlines():
                self._asker.complain(line.removeprefix("setup: "))
            return False
        return True

    def _table(self, name: str) -> Table:
        table = self.before.get(name)
        return dict(table) if isinstance(table, dict) else {}


def _lasting(provider: Table) -> Table:
    return {key: value for key, value in provider.items() if key not in _OF_SERVICE}
