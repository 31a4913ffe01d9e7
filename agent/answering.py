"""What answers, composed: the model service with its routes, and the offline provider last.

What speaks to a service is loaded only where there is one.
"""

from collections.abc import Mapping

from agent.clock import Clock
from agent.dispatch.choice import Offer
from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.http import HttpClient
from agent.providers.base import Provider
from agent.providers.credentials import chosen_service
from agent.providers.offline.provider import OfflineProvider
from agent.providers.settings import OFFLINE
from agent.settings import Settings


def open_provider(
    settings: Settings,
    environ: Mapping[str, str],
    http: HttpClient,
    embedder: Embedder,
    clock: Clock,
) -> Provider:
    """Everything that answers, behind one provider.

    Raises:
        ConfigRefused: something that is configured cannot be asked.
    """
    # Working without a network does not begin with a question to a service
    offline = OfflineProvider(NoEmbedder() if settings.embeddings.is_remote else embedder)
    if chosen_service(settings.provider, environ) is None:
        return offline
    from agent.providers.create import routed  # noqa: PLC0415 - offline goes without it
    from agent.providers.fallback import FallbackProvider  # noqa: PLC0415 - as above

    first = routed(settings.provider, settings.providers, environ, http, clock)
    return FallbackProvider(first, offline) if settings.provider.offline_last else first


def offered(settings: Settings, environ: Mapping[str, str]) -> Offer:
    """What a conversation can choose from."""
    wanted = settings.provider
    service = chosen_service(wanted, environ)
    if service is None:
        return Offer(OFFLINE)
    sorted_to = tuple(wanted.classify)
    return Offer(
        service.name, wanted.model or service.model, wanted.routes, wanted.fallbacks, sorted_to
    )
