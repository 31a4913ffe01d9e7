"""Subject of `barnacle doctor`, from the settings and paths of one command line."""

import os
import shutil
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from agent.access.people import PeopleStore
from agent.app.boards import open_boards
from agent.app.embedder import embedder_of
from agent.channels.attached.socket import NAME, connected
from agent.channels.settings import ChannelsSettings
from agent.cli import configuration
from agent.embeddings.none import NoEmbedder
from agent.errors import ChannelUnavailable, ConfigRefused
from agent.gateway.settings import GatewaySettings
from agent.health.base import MemoryStore, ModelService, Patient, Probe
from agent.machine.readings import Readings
from agent.memory.backends import BackendPlace, may_hold_memories, open_backend, where
from agent.memory.former_backend import left_behind
from agent.providers.catalog import KnownService
from agent.providers.credentials import chosen_service, find_key
from agent.providers.settings import ProgramSettings, ProviderSettings, endpoint
from agent.providers.spending import Spent, read_day, today
from agent.providers.spending_limits import reached_today
from agent.provision.secret_values import secrets_in
from agent.settings import Paths, Settings, enable_gpios, find_config, find_paths
from agent.system.clock import SystemClock

if TYPE_CHECKING:
    from agent.channels.platform import Platform
    from agent.channels.speech_settings import SpeechSettings


def patient_of(arguments: Namespace) -> Patient:
    """Return the subject of the checks; after a rejected configuration, with the defaults."""
    try:
        settings, paths = configuration.load_own(arguments)
    except ConfigRefused as err:
        settings = Settings()
        state = getattr(arguments, "state_dir", None)
        paths = find_paths(os.environ, settings, find_config(os.environ), state)
        return _patient(settings, paths, str(err))
    return _patient(settings, paths, "")


def _patient(settings: Settings, paths: Paths, refusal: str) -> Patient:
    return Patient(
        state_dir=paths.state_dir,
        databases=(paths.agent_db, paths.brain_db, paths.readings_db),
        model_dir=paths.model_dir if settings.embeddings.provider == "onnx" else None,
        documents=paths.documents,
        workspace=paths.workspace,
        identity=settings.agent.identity,
        embeds_remotely=settings.embeddings.is_remote,
        status_file=paths.status_file,
        embedder=embedder_of(settings, paths, os.environ),
        find_service=lambda: _service(settings.provider, os.environ),
        make_boards=lambda: open_boards(settings, paths, SystemClock()),
        needs_board=any(board.port for board in settings.every_board()),
        enable_gpios=enable_gpios(settings),
        pins=settings.pins,
        i2c=settings.i2c,
        mcp=settings.mcp,
        config=paths.config,
        refusal=refusal,
        holds_key=any(True for _ in secrets_in(settings)),
        environ=os.environ,
        find_store=lambda: _store(settings, paths),
        find_spending=lambda: _spending(settings, paths),
        takes_terminals=lambda: _takes_terminals(paths),
        readings=Readings(paths.state_dir),
        try_key=partial(_try_key, settings.provider),
        hosts=tuple(_hosts(settings.channels)),
        hear=partial(_hear, paths) if settings.channels != ChannelsSettings() else None,
        probe_gateway=partial(_probe_gateway, gateway, paths)
        if (gateway := settings.gateway)
        else None,
        home=_surroundings(settings, paths),
        platforms=_platforms(settings, paths),
    )


async def _try_key(settings: ProviderSettings) -> str:
    from agent.net.http import HttpClient  # noqa: PLC0415 - where a service is configured
    from agent.providers.create import service_provider  # noqa: PLC0415 - as above

    http = HttpClient()
    try:
        # A list of models is asked for without one
        asked = msgspec.structs.replace(settings, model=settings.model or "none")
        names = await service_provider(asked, os.environ, http).list_models()
    finally:
        await http.aclose()
    if names and settings.model and settings.model not in names:
        return f", and does not list the model {settings.model} (see `barnacle models`)"
    return ""


def _hosts(channels: ChannelsSettings) -> Iterator[str]:
    """Yield the hosts of platforms that have a URL."""
    for name in channels.__struct_fields__:
        section = getattr(channels, name)
        for key in ("base_url", "url"):
            if host := urlsplit(str(getattr(section, key, ""))).hostname:
                yield host


async def _hear(paths: Paths) -> Mapping[str, float]:
    from agent.channels.attached.client import look  # noqa: PLC0415 - where one is configured

    return (await look(paths.state_dir / NAME)).heard_s


def _takes_terminals(paths: Paths) -> bool:
    try:
        connected(paths.state_dir / NAME).close()
    except ChannelUnavailable:
        return False
    return True


def _platforms(settings: Settings, paths: Paths) -> dict[str, Probe]:
    if settings.channels == ChannelsSettings():
        return {}
    from agent.channels.catalog import configured  # noqa: PLC0415 - where one is configured

    return {
        platform.name: partial(_identify, platform, settings, paths)
        for platform in configured(settings.channels)
    }


async def _identify(platform: "Platform", settings: Settings, paths: Paths) -> str:
    from agent.channels.platform import PlatformContext, check_gateway  # noqa: PLC0415 - as above
    from agent.net.http import HttpClient  # noqa: PLC0415 - where a platform is configured

    channels = settings.channels
    check_gateway(platform, channels, os.environ, settings.gateway)
    http = HttpClient()
    try:
        return await platform.identify(
            channels, PlatformContext(paths, os.environ, http, SystemClock())
        )
    finally:
        await http.aclose()


def _surroundings(settings: Settings, paths: Paths) -> dict[str, Probe]:
    """Return the probes of what is configured besides: the house, speech, the browser."""
    found: dict[str, Probe] = {}
    if (wyoming := settings.wyoming) is not None:
        from agent.gateway.assistants.wyoming import clients  # noqa: PLC0415 - as above

        people = PeopleStore(paths.state_dir / "people.json", SystemClock())
        found["wyoming"] = partial(clients.probe, wyoming, people)
    if (home := settings.home_assistant) is not None:
        from agent.app.home import probe  # noqa: PLC0415 - as above

        found["home_assistant"] = partial(probe, home, os.environ)
    if settings.devices is not None and settings.devices.others:
        from agent.app.devices import probe as probe_devices  # noqa: PLC0415 - as above

        found["devices"] = partial(probe_devices, settings, paths, os.environ)
    if settings.channels.speech is not None:
        found["speech"] = partial(_speech, settings.channels.speech, paths)
    if (browser := settings.browser) is not None:
        from agent.app.browser import probe as probe_browser  # noqa: PLC0415 - as above

        found["browser"] = partial(probe_browser, browser, Readings(paths.state_dir))
    return found


async def _speech(wanted: "SpeechSettings", paths: Paths) -> str:
    from agent.channels.speech.engines import SpeechParts, probe  # noqa: PLC0415 - as above
    from agent.net.http import HttpClient  # noqa: PLC0415 - as above

    http = HttpClient()
    try:
        return await probe(wanted, SpeechParts(os.environ, http, paths.workspace))
    finally:
        await http.aclose()


def _probe_gateway(wanted: GatewaySettings, paths: Paths) -> str:
    from agent.app.channels import gateway_token  # noqa: PLC0415 - as above
    from agent.gateway.address import gateway_address  # noqa: PLC0415 - where it is configured

    token = gateway_token(wanted, os.environ).reveal()
    place = gateway_address(wanted, paths.state_dir, token)
    seen = "with a token" if token else "without a token, for users of this machine"
    lent = f"; lent to other assistants by {', '.join(wanted.assistants)}" * bool(wanted.assistants)
    return f"listens at {place.in_words}, {seen}{lent}"


def _spending(settings: Settings, paths: Paths) -> tuple[str, str]:
    spent = read_day(paths.agent_db, today(time.time())) or Spent()
    return spent.in_words(settings.provider.daily_limit_usd), reached_today(
        settings.provider, spent
    )


def _store(settings: Settings, paths: Paths) -> MemoryStore:
    """Return the store of the memories; one that opening would make or mend stays closed."""
    backend = settings.memory.backend
    place = BackendPlace(settings.memory, paths.state_dir, NoEmbedder(), SystemClock())
    trouble = left_behind(place)
    program = settings.memory.lucid_program
    if backend == "lucid" and shutil.which(program) is None:
        trouble = f"{program} not found (memory.lucid_program): only brain.db is searched"
    is_opened = backend not in {"sqlite", "lucid", "none"} and may_hold_memories(place, backend)
    return MemoryStore(
        backend, where(place, backend), trouble, partial(open_backend, place) if is_opened else None
    )


def _service(settings: ProviderSettings, environ: Mapping[str, str]) -> ModelService | None:
    service = chosen_service(settings, environ)
    if service is None:
        return None
    if settings.program is not None:
        return _program(settings, settings.program, environ, service)
    credential = find_key(settings, environ, service)
    url = endpoint(settings.base_url or service.url, service.usual_path)
    return ModelService(url, credential.source if credential else "")


def _program(
    settings: ProviderSettings,
    declared: ProgramSettings,
    environ: Mapping[str, str],
    service: KnownService,
) -> ModelService:
    from agent.providers.program.isolation import ProgramIsolation  # noqa: PLC0415 - few have one

    credential = find_key(settings, environ, service) if declared.key_variable else None
    source = credential.source if credential else ""
    return ModelService(
        "", source, service.name, lambda: ProgramIsolation().place(declared).trouble
    )
