"""`barnacle models check`: does the configured service speak as expected, in lines to report."""

import os
from argparse import Namespace

import msgspec

from agent import __version__
from agent.app.probe.service import ServiceCheck, WireFinding, WireVerdict
from agent.cli import configuration, exits
from agent.cli.loop import run_in_loop
from agent.cli.output import say, say_json
from agent.errors import ConfigRefused
from agent.net.http import HttpClient
from agent.providers.catalog import KnownService
from agent.providers.create import service_provider
from agent.providers.credentials import chosen_service
from agent.providers.prompted.forms import ToolForms
from agent.providers.prompted.provider import PromptedProvider
from agent.providers.settings import ProviderSettings
from agent.system.clock import SystemClock

_RIGHT = "The service speaks as expected."
_DIFFERS = (
    "The service differs where it says so. Report these lines with the name and the version of "
    "your server and the name of the model file: no key and nothing of yours is in them."
)


def run(arguments: Namespace) -> int:
    settings: ProviderSettings = configuration.load(arguments)[0].provider
    service = chosen_service(settings, os.environ)
    if service is None:
        raise ConfigRefused(
            "no model service configured: set provider.kind or provider.base_url, then try again"
        )
    model = settings.model or service.model
    if not arguments.json:
        say(f"barnacle {__version__}, {service.name} ({service.wire.value}), model {model}")
    found = run_in_loop(_check(settings, service, model, show=not arguments.json))
    differs = any(one.verdict is WireVerdict.DIFFERS for one in found)
    if arguments.json:
        say_json(
            {
                "version": __version__,
                "service": service.name,
                "wire": service.wire.value,
                "model": model,
                "findings": [
                    {"subject": one.subject, "verdict": one.verdict.value, "detail": one.detail}
                    for one in found
                ],
            }
        )
    else:
        say(_DIFFERS if differs else _RIGHT)
    return exits.FAILED if differs else exits.OK


async def _check(
    settings: ProviderSettings, service: KnownService, model: str, *, show: bool
) -> tuple[WireFinding, ...]:
    http = HttpClient()
    try:
        asked = msgspec.structs.replace(settings, fallbacks=(), model=model)
        if settings.program is not None:
            return await _check_program(asked, http, show=show)
        provider = service_provider(asked, os.environ, http)
        window = settings.context_tokens or provider.capabilities().context_tokens or 0
        check = ServiceCheck(provider, model, window, has_grammar=service.has_grammar)
        return await check.run(_say_finding if show else _say_nothing)
    finally:
        await http.aclose()


async def _check_program(
    settings: ProviderSettings, http: HttpClient, *, show: bool
) -> tuple[WireFinding, ...]:
    provider = service_provider(settings, os.environ, http)
    told = PromptedProvider(provider, provider.model, ToolForms(SystemClock()))
    check = ServiceCheck(told, provider.model, settings.context_tokens, is_program=True)
    return await check.run(_say_finding if show else _say_nothing)


def _say_finding(finding: WireFinding) -> None:
    say(f"{finding.verdict.value}: {finding.subject} - {finding.detail}")


def _say_nothing(_finding: WireFinding) -> None:
    """JSON has all of them at the end."""
