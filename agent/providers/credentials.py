"""Choice of service and keys: the configuration goes before the environment."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from agent.config import Secret
from agent.errors import ConfigRefused
from agent.providers import catalog
from agent.providers.catalog import OPENAI, KnownService
from agent.providers.settings import AUTO, OFFLINE, ProgramSettings, ProviderSettings

# For the service of [provider], where no variable of its own has a key in it, in this order
KEY_VARIABLES = ("BARNACLE_API_KEY", "API_KEY")


class Credential(Struct, frozen=True):
    """Key, and the place where a person can change it."""

    key: Secret
    source: str


def find_key(
    settings: ProviderSettings,
    environ: Mapping[str, str],
    service: KnownService = OPENAI,
    where: str = "provider",
) -> Credential | None:
    """Return the first key for a service, if any; `where` is the section of the settings.

    Raises:
        ConfigRefused: what is there cannot be a key.
    """
    if settings.api_key:
        return _checked(settings.api_key.reveal(), f"{where}.api_key")
    own = () if is_elsewhere(settings, service) else service.key_variables
    for name in (*own, *KEY_VARIABLES):
        if value := environ.get(name, "").strip():
            return _checked(value, name)
    return None


def is_elsewhere(settings: ProviderSettings, service: KnownService) -> bool:
    """Return true for an address of which nobody says that it is this service's.

    A key in the service's own variable is nobody else's: it does not go there.
    """
    if settings.kind != AUTO or not settings.base_url:
        return False
    return origin_of(settings.base_url) != origin_of(service.url)


def without_shared(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the keys that are for the service of [provider]."""
    return {name: value for name, value in environ.items() if name not in KEY_VARIABLES}


def origin_of(url: str) -> str:
    """Return scheme, host and port of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def find_keys(
    settings: ProviderSettings,
    environ: Mapping[str, str],
    service: KnownService,
    where: str = "provider",
) -> tuple[Credential, ...]:
    """Return every key for a service, the first one to use first.

    Raises:
        ConfigRefused: what is there cannot be a key.
    """
    first = find_key(settings, environ, service, where)
    more = (_checked(key.reveal(), f"{where}.more_keys") for key in settings.more_keys if key)
    found = [*(() if first is None else (first,)), *more]
    # The same key twice is not asked twice
    return tuple({credential.key.reveal(): credential for credential in found}.values())


def chosen_service(
    settings: ProviderSettings, environ: Mapping[str, str], where: str = "provider"
) -> KnownService | None:
    """Return the service that `kind` stands for here; None is offline.

    Raises:
        ConfigRefused: a service that needs a key has none.
    """
    if settings.kind == OFFLINE:
        return None
    if settings.kind == AUTO:
        return _service_of_key(settings, environ)
    if settings.program is not None:
        return _declared(settings.program)
    service = catalog.find(settings.kind)
    is_elsewhere = bool(settings.base_url) and not service.own_url
    if service.needs_key and not is_elsewhere and not find_key(settings, environ, service, where):
        named = " or ".join(service.key_variables)
        raise ConfigRefused(
            f"{where}.kind is {settings.kind!r}, but there is no key: set {where}.api_key or "
            f"{named}, or {where}.base_url for a service that needs none"
        )
    return service


def _declared(program: ProgramSettings) -> KnownService:
    """Return a program as a service, called by its file."""
    variables = (program.key_variable,) if program.key_variable else ()
    name = program.command[0].rpartition("/")[2]
    return replace(catalog.PROGRAM, name=name, key_variables=variables, model=name)


def _service_of_key(settings: ProviderSettings, environ: Mapping[str, str]) -> KnownService | None:
    if settings.base_url or settings.api_key:
        return OPENAI
    for service in catalog.every():
        has_key = any(environ.get(name, "").strip() for name in service.key_variables)
        if service.is_found_by_key and has_key:
            return service
    return OPENAI if find_key(settings, environ) is not None else None


def _checked(text: str, source: str) -> Credential:
    # It travels in a header line: nothing else may be smuggled in with it
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigRefused(f"{source} is not a valid key: use only ASCII characters, no spaces")
    return Credential(Secret(text), source)
