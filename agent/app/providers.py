"""Composition of the providers: the model service with its routes, the offline one last.

What speaks to a service is loaded only where there is one.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from agent.access.owner import Tell
from agent.config import Secret
from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.errors import ConfigRefused
from agent.net.http import HttpClient
from agent.providers import catalog
from agent.providers.base import Provider
from agent.providers.credentials import KEY_VARIABLES, chosen_service
from agent.providers.offline.provider import OfflineProvider
from agent.providers.settings import OFFLINE
from agent.security.redact import Redactor
from agent.settings import Paths, Settings
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock
from agent.turn.model_choice import ModelChoices

if TYPE_CHECKING:
    from agent.providers.prompted.forms import ToolForms
    from agent.providers.spending_limits import Budget
    from agent.storage.phrases import Phrases

# ruff: noqa: PLC0415  # what speaks to services begins with a service, or never


class ModelServices(Struct, frozen=True):
    """The provider of an agent, and what is spent for it.

    Args:
        budget: None where nothing can cost anything.
        renew: has the services asked with other keys and models from now on, and returns what can
            be chosen; raises ConfigRefused before. None where no service was opened at the start.
    """

    provider: Provider
    budget: "Budget | None" = None
    renew: Callable[[Settings], Awaitable[ModelChoices]] | None = None

    def spending(self) -> str:
        """Return today's cost in words; empty if nothing can cost."""
        return "" if self.budget is None else self.budget.spent_today()

    async def spent_in(self, conversation: str) -> str:
        """The same of a conversation since it began."""
        return "" if self.budget is None else await self.budget.spent_in(conversation)

    async def begin(self, tell: Tell) -> None:
        """Look how it stands; from now on `tell` tells the owner of limits."""
        if self.budget is not None:
            await self.budget.begin(tell)


class LocalParts(Struct, frozen=True):
    """Parts of this device that providers use.

    Args:
        phrases: the file of sentences that a model did before.
        templates: the file of the templates in which models write their calls.
    """

    embedder: Embedder = field(default_factory=NoEmbedder)
    phrases: Path | None = None
    templates: Path | None = None


def open_providers(
    settings: Settings,
    environ: Mapping[str, str],
    http: HttpClient,
    local: LocalParts,
    journal: DatabaseWorker,
    clock: Clock,
) -> ModelServices:
    """Everything that answers, behind one provider.

    Raises:
        ConfigRefused: something that is configured cannot be asked.
    """

    def offline() -> OfflineProvider:
        # Working without a network does not begin with a question to a service
        able = NoEmbedder() if settings.embeddings.is_remote else local.embedder
        phrases = partial(_phrases, local.phrases, clock) if local.phrases else None
        return OfflineProvider(able, phrases, settings.agent.name)

    wanted = settings.provider
    if chosen_service(wanted, environ) is None:
        return ModelServices(offline())
    # Offline goes without all of this
    from agent.providers.create import routed
    from agent.providers.fallback import FallbackProvider
    from agent.providers.metered import MeteredProvider
    from agent.providers.prices import Prices
    from agent.providers.replaceable import ReplaceableProvider
    from agent.providers.spending import SpendingLedger
    from agent.providers.spending_limits import Budget

    budget = Budget(wanted, SpendingLedger(journal, clock), Prices(wanted.prices))
    meter = partial(MeteredProvider, budget=budget)
    forms = _tool_forms(local.templates, clock)

    def made(chosen: Settings) -> Provider:
        if chosen_service(chosen.provider, environ) is None:
            # The last key is gone
            return offline()
        first = routed(chosen.provider, chosen.providers, environ, http, forms, meter)
        return FallbackProvider(first, offline()) if wanted.offline_last else first

    provider = ReplaceableProvider(made(settings))

    async def renew(chosen: Settings) -> ModelChoices:
        await provider.exchange(made(chosen))
        return model_choices(chosen, environ)

    return ModelServices(provider, budget, renew)


def _tool_forms(templates: Path | None, clock: Clock) -> "ToolForms":
    """Return one for all times: what a model was found to want outlasts a new configuration."""
    from agent.providers.prompted.forms import ToolForms
    from agent.providers.prompted.learnt_templates import LearntTemplates

    return ToolForms(clock, LearntTemplates(templates))


def _phrases(path: Path, clock: Clock) -> "Phrases":
    from agent.storage.phrases import Phrases

    return Phrases(path, clock)


def with_pictures(
    provider: Provider, settings: Settings, paths: Paths, http: HttpClient
) -> Provider:
    """Return the provider for a person, who may show pictures; background work has none."""
    if isinstance(provider, OfflineProvider):
        return provider
    from agent.providers.pictures.fetch import PictureFetch
    from agent.providers.pictures.provider import PictureFiles, PicturesProvider

    wanted = settings.provider
    most_bytes = wanted.max_image_mb * 1024 * 1024
    files = PictureFiles(paths.workspace, paths.inbox, most_bytes)
    remote = PictureFetch(http, most_bytes) if wanted.fetch_images else None
    return PicturesProvider(provider, files, remote, wanted.max_images)


def secrets(settings: Settings, environ: Mapping[str, str]) -> Iterator[Secret]:
    """Every key that may be sent to any service, for whoever keeps them out of texts."""
    for section in (settings.provider, *settings.providers.values()):
        yield from (section.api_key, *section.more_keys)
        if section.program is not None:
            yield from section.program.secrets(environ)
    yield from (service.key for service in settings.web.search.values())
    for server in settings.mcp.values():
        yield from server.secrets()
    if settings.home_assistant is not None:
        from agent.app.home import home_token

        with contextlib.suppress(ConfigRefused):
            yield home_token(settings.home_assistant, environ)
    names = {name for service in catalog.every() for name in service.key_variables}
    for name in (*names, *KEY_VARIABLES):
        # What is no key at all is refused, by name, where it is used
        with contextlib.suppress(ValueError):
            yield Secret(environ.get(name, "").strip())


def keep_secrets(redactor: Redactor, settings: Settings, environ: Mapping[str, str]) -> None:
    """Keep every key out of what is logged and sent from now on."""
    for secret in secrets(settings, environ):
        redactor.add(secret)


def model_choices(settings: Settings, environ: Mapping[str, str]) -> ModelChoices:
    """Return the models that a conversation can choose from."""
    wanted = settings.provider
    service = chosen_service(wanted, environ)
    if service is None:
        return ModelChoices(OFFLINE)
    sorted_to = tuple(wanted.classify)
    return ModelChoices(
        service.name, wanted.model or service.model, wanted.routes, wanted.fallbacks, sorted_to
    )
