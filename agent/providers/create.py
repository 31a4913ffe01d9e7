"""Construction of the providers that the configuration names: one for each key."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from agent.errors import ConfigRefused
from agent.net.http import BETWEEN_BYTES_TIMEOUT_S, HttpClient
from agent.providers import catalog
from agent.providers.base import DirectProvider, Provider
from agent.providers.candidate import ModelCandidate
from agent.providers.catalog import OPENAI, THOUGHT_PATIENCE_S, KnownService, WireName
from agent.providers.classifier import Classifier
from agent.providers.credentials import (
    KEY_VARIABLES,
    Credential,
    chosen_service,
    find_keys,
    origin_of,
    without_shared,
)
from agent.providers.endpoint import Endpoint
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.provider import PromptedProvider, ToolForm
from agent.providers.reader import RequestTimeouts
from agent.providers.reliable import ReliableProvider
from agent.providers.router import RouterProvider, VisionProvider
from agent.providers.section import MainProviderSettings
from agent.providers.service import ServiceProvider
from agent.providers.settings import (
    AUTO,
    MODEL_WORD,
    OFFLINE,
    OLLAMA_CONTEXT_TOKENS,
    ProviderSettings,
    endpoint,
)
from agent.providers.wire import Sampling, WireFormat
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

Meter = Callable[[DirectProvider], Provider]


def unmetered(service: DirectProvider) -> Provider:
    return service


def service_providers(
    settings: ProviderSettings,
    environ: Mapping[str, str],
    http: HttpClient,
    where: str = "provider",
    patience: RequestTimeouts | None = None,
    keys: Mapping[str, str] | None = None,
) -> tuple[DirectProvider, ...]:
    """Return the providers of one service or program, the first key first; at least one.

    Args:
        environ: what a program is started with; a service without any key in it is refused.
        keys: where a key is looked for that the settings do not give; None is `environ`.
        where: the section of the settings, for people.
        patience: replaces the time limits of the settings.

    Raises:
        ConfigRefused: no model, no key, or something that cannot be one.
    """
    service = chosen_service(settings, environ, where) or OPENAI
    wants_key = settings.program is None or bool(settings.program.key_variable)
    kept = environ if keys is None else keys
    found = find_keys(settings, kept, service, where) if wants_key else ()
    if settings.program is not None:
        return _programs(settings, environ, service, where, patience, found)
    model = settings.model or service.model
    if not model:
        raise ConfigRefused(
            f"{service.name} has no default model: set {where}.model; `barnacle models` "
            "lists the models that your key can use"
        )
    url = endpoint(settings.base_url or service.url, service.usual_path)
    wire = _wire(service.wire, settings)
    window = settings.context_tokens or None
    sampling = Sampling(model, settings.temperature, settings.max_tokens, window)
    patience = patience or _patience(settings, service)
    if not found:
        _warn_of_unused_keys(settings, environ, service, url, where)
    return tuple(
        ServiceProvider(service.name, place, wire, sampling, http, patience)
        for place in _endpoints(service, url, found)
    )


def service_provider(
    settings: ProviderSettings,
    environ: Mapping[str, str],
    http: HttpClient,
    patience: RequestTimeouts | None = None,
) -> DirectProvider:
    """Return the provider with the first key."""
    return service_providers(settings, environ, http, patience=patience)[0]


def chain(
    settings: ProviderSettings,
    named: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    http: HttpClient,
    clock: Clock,
    meter: Meter = unmetered,
) -> ReliableProvider:
    """Return the configured service, then its fallbacks.

    Args:
        named: services of `[providers.<name>]`.
        meter: goes around every way to a service, to see all that is asked of it.

    Raises:
        ConfigRefused: one of them cannot be asked.
    """
    ways = _Ways(settings, named, environ, http, meter, ToolForms(clock))
    return ways.asked(ways.usual(), clock)


def routed(
    settings: MainProviderSettings,
    named: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    http: HttpClient,
    forms: ToolForms,
    meter: Meter = unmetered,
) -> RouterProvider:
    """Return the chain, and one of its own for each route: its model, then the usual ones.

    Args:
        forms: what is known of the models' calls; all is timed by its clock.

    Raises:
        ConfigRefused: one of them cannot be asked.
    """
    clock = forms.clock
    ways = _Ways(settings, named, environ, http, meter, forms)
    usual = ways.usual()
    routes = {
        hint: ways.asked(_distinct(ways.to(target, f"provider.routes.{hint}"), usual), clock)
        for hint, target in settings.routes.items()
    }
    return RouterProvider(ways.asked(usual, clock), routes, Classifier(settings.classify))


class _Ways(Struct, frozen=True):
    """Makes candidates of what the configuration names."""

    settings: ProviderSettings
    named: Mapping[str, ProviderSettings]
    environ: Mapping[str, str]
    http: HttpClient
    meter: Meter
    forms: ToolForms

    def asked(self, candidates: Sequence[ModelCandidate], clock: Clock) -> ReliableProvider:
        """Return the provider that asks candidates in their order."""
        first = chosen_service(self.settings, self.environ) or OPENAI
        beside_after_s = self.settings.fallback_after_s
        if beside_after_s:
            # A service that loads a model first is silent for longer
            beside_after_s = max(beside_after_s, first.least_patience_s)
        return ReliableProvider(candidates, clock, beside_after_s=beside_after_s)

    def usual(self) -> list[ModelCandidate]:
        first = service_providers(self.settings, self.environ, self.http)
        fallbacks = (self.to(name, "provider.fallbacks") for name in self.settings.fallbacks)
        # What a request asks for, it asks of the first: others do not have the same models
        usual = ModelCandidate(first[0].name, [self._fitted(way, self.settings) for way in first])
        return [usual, *fallbacks]

    def to(self, wanted: str, key: str) -> ModelCandidate:
        """Return the candidate that a fallback or a route names; `key` is its place."""
        where, theirs = _named(wanted, key, self.settings, self.named)
        keys = self.environ if self._is_first(theirs) else without_shared(self.environ)
        ways = service_providers(theirs, self.environ, self.http, where, keys=keys)
        return ModelCandidate(wanted, [self._fitted(way, theirs) for way in ways], ways[0].model)

    def _is_first(self, theirs: ProviderSettings) -> bool:
        """Return true for the service of [provider], or another of its models by a table."""
        return theirs.program is None and self._origin(theirs) == self._origin(self.settings)

    def _origin(self, settings: ProviderSettings) -> str:
        if settings.base_url or settings.kind == OFFLINE:
            return origin_of(settings.base_url)
        is_found = settings.kind == AUTO
        found = chosen_service(settings, self.environ) if is_found else catalog.find(settings.kind)
        return origin_of((found or OPENAI).url)

    def _fitted(self, way: DirectProvider, settings: ProviderSettings) -> Provider:
        """Return a provider whose model gets only what it accepts."""
        service = chosen_service(settings, self.environ) or OPENAI
        form = ToolForm(settings.tool_calls)
        if form is ToolForm.AUTO and not service.takes_tools:
            form = ToolForm.WORDS
        sees = None if settings.vision == "auto" else settings.vision == "yes"
        if settings.program is not None:
            # Whatever its name says: it is given text alone
            sees = False
        told = PromptedProvider(
            self.meter(way),
            way.model,
            self.forms,
            form,
            has_grammar=service.has_grammar,
            template=settings.template,
        )
        return VisionProvider(told, way.model, sees=sees)


def _distinct(first: ModelCandidate, others: Sequence[ModelCandidate]) -> list[ModelCandidate]:
    return [first, *(other for other in others if other.name != first.name)]


def _named(
    wanted: str, key: str, settings: ProviderSettings, named: Mapping[str, ProviderSettings]
) -> tuple[str, ProviderSettings]:
    """Return section and settings of a name: ``groq``, ``backup:large``, ``provider:small``."""
    name, _, model = wanted.partition(":")
    if name in {"custom", "anthropic-custom"}:
        raise ConfigRefused(
            f"{key}: {wanted!r} needs a table such as [providers.backup]; write its name here"
        )
    if name in named:
        where, theirs = f"providers.{name}", named[name]
    elif name == "provider" or _is_same(name, key, settings):
        where, theirs = "provider", settings
    else:
        where, theirs = f"providers.{name}", _by_name(name, key)
    return where, msgspec.structs.replace(theirs, model=model or theirs.model)


def _by_name(name: str, key: str) -> ProviderSettings:
    try:
        return ProviderSettings(kind=name)
    except ValueError as err:
        raise ConfigRefused(
            f"{key}: {name!r}: {err}; write a table such as [providers.backup] and its name here"
        ) from err


def _is_same(name: str, key: str, settings: ProviderSettings) -> bool:
    try:
        known = catalog.find(name)
    except ValueError as err:
        raise ConfigRefused(f"{key}: {err}") from err
    return settings.kind not in {AUTO, OFFLINE} and catalog.find(settings.kind) == known


def _endpoints(service: KnownService, url: str, keys: Sequence[Credential]) -> tuple[Endpoint, ...]:
    bare = Endpoint(
        url, auth=service.auth, auth_name=service.auth_name, headers=dict(service.headers)
    )
    return tuple(bare.with_key(found.key, found.source) for found in keys) or (bare,)


def _warn_of_unused_keys(
    settings: ProviderSettings,
    environ: Mapping[str, str],
    service: KnownService,
    url: str,
    where: str,
) -> None:
    """Log which keys are there and not sent: they are of another service."""
    names = (*service.key_variables, *KEY_VARIABLES)
    unused = [name for name in names if environ.get(name, "").strip()]
    if unused and (service.needs_key or settings.kind == AUTO):
        _log.warning(
            "provider: no key is sent to %s, as %s may be of another service: if it is for this "
            "one, set %s.api_key to it",
            origin_of(url),
            unused[0],
            where,
        )


def _programs(
    settings: ProviderSettings,
    environ: Mapping[str, str],
    service: KnownService,
    where: str,
    patience: RequestTimeouts | None,
    found: Sequence[Credential],
) -> tuple[DirectProvider, ...]:
    declared = settings.program
    assert declared is not None
    from agent.providers.program.provider import (  # noqa: PLC0415 - few declare a program
        ProgramCommand,
        ProgramProvider,
    )

    if not settings.model and MODEL_WORD in "".join(declared.command):
        raise ConfigRefused(
            f"{service.name} is given {MODEL_WORD}, but there is none: set {where}.model"
        )
    first_byte_s = max(settings.first_byte_timeout_s, service.least_patience_s)
    patience = patience or RequestTimeouts(
        settings.timeout_s, first_byte_s, declared.silence_timeout_s
    )
    sampling = Sampling(settings.model or service.model, settings.temperature, settings.max_tokens)
    return tuple(
        ProgramProvider(
            ProgramCommand(service.name, declared, key, environ),
            sampling,
            patience,
            context_tokens=settings.context_tokens or None,
        )
        for key in (found or (None,))
    )


def _patience(settings: ProviderSettings, service: KnownService) -> RequestTimeouts:
    first_byte_s = max(settings.first_byte_timeout_s, service.least_patience_s)
    between_bytes_s = max(BETWEEN_BYTES_TIMEOUT_S, service.least_patience_s)
    if service.wire is WireName.RESPONSES:
        # Its first events come before the model has begun to think
        between_bytes_s = max(first_byte_s, THOUGHT_PATIENCE_S)
    return RequestTimeouts(settings.timeout_s, first_byte_s, between_bytes_s)


def _wire(name: WireName, settings: ProviderSettings) -> WireFormat[Any]:
    """Load a wire format when it is used: each takes milliseconds that a start can save."""
    match name:
        case WireName.COMPLETIONS:
            from agent.providers.completions.wire import CompletionsWire  # noqa: PLC0415 - see above

            return CompletionsWire()
        case WireName.RESPONSES:
            from agent.providers.responses.wire import ResponsesWire  # noqa: PLC0415 - see above

            return ResponsesWire()
        case WireName.ANTHROPIC:
            from agent.providers.anthropic.wire import AnthropicWire  # noqa: PLC0415 - see above

            return AnthropicWire()
        case WireName.GEMINI:
            from agent.providers.gemini.wire import GeminiWire  # noqa: PLC0415 - see above

            return GeminiWire()
        case WireName.OLLAMA:
            from agent.providers.ollama.wire import OllamaWire  # noqa: PLC0415 - see above

            return OllamaWire(settings.context_tokens or OLLAMA_CONTEXT_TOKENS)
        case WireName.PROGRAM:
            raise ConfigRefused("a program has no wire format: declare it in provider.program")
