"""Commands `/model` and `/models`: show the model that answers, change it, list all.

A choice is the conversation's own and outlives a restart.
"""

import asyncio
import difflib

from agent.access.commands import ChatCommand, argument_of
from agent.errors import ProviderError
from agent.messages import Inbound, Provenance
from agent.providers.base import Provider
from agent.providers.settings import HINT
from agent.storage.worker import DatabaseWorker
from agent.text.printable import printable_line
from agent.turn import model_choice
from agent.turn.model_choice import ModelChoices

# A person waits for the list; a service that takes longer is told as not reached
LIST_TIMEOUT_S = 10.0
# One screen of a phone or two
PAGE_MODELS = 40
# No service has a longer name
MAX_NAME_CHARS = 200
# What goes back to the configured model
DEFAULT = "default"
NOT_A_PERSON_TEXT = "Only a person can choose the model."
NO_SERVICE_TEXT = (
    "No model service is configured, so I answer offline. `[provider]` in the configuration names "
    "one; `barnacle models --services` lists them."
)


class ModelCommands:
    """Shows and changes who answers in a conversation."""

    def __init__(self, journal: DatabaseWorker, provider: Provider, offer: ModelChoices) -> None:
        self._journal = journal
        self._provider = provider
        self._offer = offer

    async def obey(self, command: ChatCommand, message: Inbound) -> str:
        """Run the command and return the answer.

        Raises:
            StorageFull: the choice is what it was.
        """
        if message.provenance < Provenance.USER:
            return NOT_A_PERSON_TEXT
        if not self._offer.model:
            return NO_SERVICE_TEXT
        argument = argument_of(message.text)
        if command is ChatCommand.MODELS:
            return await self._list(argument)
        if argument:
            return await self._choose(message.conversation, argument)
        return await self._shown(message.conversation)

    async def _shown(self, conversation: str) -> str:
        model = await self._journal.look(lambda db: model_choice.chosen(db, conversation))
        if model is None:
            return f"Model: {self._usual}, as configured.{self._sorting}"
        return f"{self._told(model)} It was chosen for this conversation; /model default goes back."

    async def _choose(self, conversation: str, model: str) -> str:
        if model.lower() == DEFAULT:
            await self._journal.transact(lambda db: model_choice.choose(db, conversation, None))
            return f"Model: {self._usual}, as configured."
        if len(model) > MAX_NAME_CHARS or not model.isprintable():
            return "That is not a valid model name."
        if model.startswith(HINT) and model.removeprefix(HINT) not in self._offer.routes:
            return f"There is no route {model}. {self._routes_in_words}"
        await self._journal.transact(lambda db: model_choice.choose(db, conversation, model))
        doubt = "" if model.startswith(HINT) else await self._doubt(model)
        return f"{self._told(model)}{doubt} /model default goes back."

    async def _list(self, argument: str) -> str:
        lines = [f"Usual: {self._usual}"]
        lines += [f"{HINT}{hint}: {target}" for hint, target in self._offer.routes.items()]
        if self._offer.fallbacks:
            lines.append(f"When it does not answer: {', '.join(self._offer.fallbacks)}")
        try:
            names = await self._names()
        except ProviderError as err:
            return "\n".join([*lines, f"{self._offer.service} lists no models now: {err}"])
        return "\n".join([*lines, *_page(names, argument, self._offer.service)])

    async def _doubt(self, model: str) -> str:
        """A word on a name that the service does not list; some take more than they list."""
        try:
            names = await self._names()
        except ProviderError:
            return ""
        if not names or model in names:
            return ""
        close = difflib.get_close_matches(model, names, n=1)
        meant = f"; did you mean {close[0]}?" if close else "; /models shows what it lists."
        return f" {self._offer.service} does not list it{meant}"

    async def _names(self) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(LIST_TIMEOUT_S):
                return await self._provider.list_models()
        except TimeoutError as err:
            raise ProviderError("it does not answer") from err

    def _told(self, model: str) -> str:
        if not model.startswith(HINT):
            return f"Model: {model} at {self._offer.service}."
        target = self._offer.routes.get(model.removeprefix(HINT))
        if target is None:
            return f"Model: {self._usual}, because provider.routes has no {model} any more."
        return f"Model: {target} ({model})."

    @property
    def _usual(self) -> str:
        return f"{self._offer.model} at {self._offer.service}"

    @property
    def _sorting(self) -> str:
        if not self._offer.sorted_to:
            return ""
        return f" Some messages go to {', '.join(HINT + h for h in self._offer.sorted_to)}."

    @property
    def _routes_in_words(self) -> str:
        if not self._offer.routes:
            return "[provider.routes] in the configuration makes some."
        return f"There are {', '.join(HINT + hint for hint in self._offer.routes)}."


def _page(names: tuple[str, ...], argument: str, service: str) -> list[str]:
    if not names:
        return [f"{service} names no models."]
    pages = -(-len(names) // PAGE_MODELS)
    number = min(max(int(argument), 1), pages) if _is_number(argument) else 1
    first = (number - 1) * PAGE_MODELS
    shown = [printable_line(name, MAX_NAME_CHARS) for name in names[first : first + PAGE_MODELS]]
    head = f"{service} has {len(names)} model{'' if len(names) == 1 else 's'}"
    if pages == 1:
        return [f"{head}:", *shown]
    more = f"; /models {number + 1} goes on" if number < pages else ""
    return [f"{head}, page {number} of {pages}{more}:", *shown]


def _is_number(argument: str) -> bool:
    return argument.isascii() and argument.isdigit() and len(argument) < len("1000")
