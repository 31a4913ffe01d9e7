"""`barnacle models`: what the configured service has, or which services are known."""

import importlib
import os
from argparse import Namespace

import msgspec

from agent.cli import configuration, exits
from agent.cli.loop import run_in_loop
from agent.cli.output import say, say_json, say_table
from agent.errors import ConfigRefused
from agent.net.http import HttpClient
from agent.providers import catalog
from agent.providers.catalog import KnownService
from agent.providers.create import service_provider
from agent.providers.credentials import chosen_service
from agent.providers.settings import ProviderSettings

# A list of models is asked for without one
_NO_MODEL = "none"


# In the place of a service; each is loaded when it is chosen
_MODULES = {"probe": "model_probe", "check": "model_check", "local": "model_local"}


def run(arguments: Namespace) -> int:
    if arguments.service in _MODULES:
        module = importlib.import_module(f"agent.cli.{_MODULES[arguments.service]}")
        return int(module.run(arguments))
    if arguments.services:
        return _show_services(as_json=arguments.json)
    settings: ProviderSettings = configuration.load(arguments)[0].provider
    if arguments.service:
        settings = _at(arguments.service, settings)
    service = chosen_service(settings, os.environ)
    if service is None:
        raise ConfigRefused(
            "no model service configured: name one, such as `barnacle models openai`; "
            "`barnacle models --services` lists all"
        )
    names = run_in_loop(_names(settings))
    if arguments.json:
        say_json({"service": service.name, "models": list(names)})
    elif names:
        say("\n".join(names))
    else:
        say(
            f"{service.name} does not list its models; set provider.model to one of its "
            "documentation"
        )
    return exits.OK


def _at(name: str, settings: ProviderSettings) -> ProviderSettings:
    """The settings for a service that is named on the command line."""
    try:
        known = catalog.find(name)
        is_same = settings.kind not in {"auto", "offline"} and catalog.find(settings.kind) == known
        if is_same:
            return settings
        return ProviderSettings(kind=name)
    except ValueError as err:
        raise ConfigRefused(str(err)) from err


async def _names(settings: ProviderSettings) -> tuple[str, ...]:
    http = HttpClient()
    try:
        asked = msgspec.structs.replace(settings, model=settings.model or _NO_MODEL)
        return await service_provider(asked, os.environ, http).list_models()
    finally:
        await http.aclose()


def _show_services(*, as_json: bool) -> int:
    services = list(catalog.every())
    if as_json:
        say_json([_as_json(service) for service in services])
        return exits.OK
    say_table(
        [
            (
                ", ".join((service.name, *service.aliases)),
                service.wire.value,
                _key(service),
                service.url or service.own_url,
            )
            for service in services
        ]
    )
    say("and custom:ADDRESS for any other service with chat completions")
    say("and program for a program that answers, with its command in [provider.program]")
    return exits.OK


def _key(service: KnownService) -> str:
    has_key = any(os.environ.get(name, "").strip() for name in service.key_variables)
    if not service.key_variables:
        return "no key"
    return f"{' or '.join(service.key_variables)}{' (set)' if has_key else ''}"


def _as_json(service: KnownService) -> dict[str, object]:
    return {
        "name": service.name,
        "aliases": list(service.aliases),
        "wire": service.wire.value,
        "url": service.url or service.own_url,
        "key_variables": list(service.key_variables),
        "model": service.model,
    }
