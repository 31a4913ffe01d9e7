"""The provider that the configuration asks for."""

from collections.abc import Mapping

from agent.http import HttpClient
from agent.providers.completions.dialect import Dialect
from agent.providers.completions.wire import CompletionsWire
from agent.providers.credentials import find_key
from agent.providers.endpoint import Endpoint
from agent.providers.reader import Patience
from agent.providers.service import ServiceProvider
from agent.providers.settings import ProviderSettings, endpoint
from agent.providers.wire import Sampling


def service_provider(
    settings: ProviderSettings,
    environ: Mapping[str, str],
    http: HttpClient,
    patience: Patience | None = None,
) -> ServiceProvider[Dialect]:
    """A way to the one service of the settings.

    Args:
        environ: where a key is looked for that the settings do not give.
        patience: replaces the time limits of the settings.
    """
    credential = find_key(settings, environ)
    where = Endpoint(endpoint(settings.base_url))
    if credential is not None:
        where = Endpoint(where.url, credential.key, credential.source)
    return ServiceProvider(
        "openai",
        where,
        CompletionsWire(),
        Sampling(settings.model, settings.temperature, settings.max_tokens),
        http,
        patience or Patience(settings.timeout_s, settings.first_byte_timeout_s),
    )
