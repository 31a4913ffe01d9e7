"""What `barnacle doctor` looks at, made of the settings and paths of one command line."""

import os
from argparse import Namespace
from collections.abc import Mapping

from agent.cli import surroundings
from agent.cli.embedder import embedder_of
from agent.clock import SystemClock
from agent.errors import ConfigRefused
from agent.health.base import Patient, Service
from agent.link.board import SerialBoard
from agent.providers.credentials import chosen_service, find_key
from agent.providers.settings import ProviderSettings, endpoint
from agent.settings import Paths, Settings, find_config, find_paths


def patient_of(arguments: Namespace) -> Patient:
    """A refused configuration is a finding: everything else is looked at with the defaults."""
    try:
        settings, paths = surroundings.of(arguments)
    except ConfigRefused as err:
        settings = Settings()
        state = getattr(arguments, "state_dir", None)
        paths = find_paths(os.environ, settings, find_config(os.environ), state)
        return _patient(settings, paths, str(err))
    return _patient(settings, paths, "")


def _patient(settings: Settings, paths: Paths, refusal: str) -> Patient:
    return Patient(
        state_dir=paths.state_dir,
        databases=(paths.agent_db, paths.brain_db),
        model_dir=paths.model_dir if settings.embeddings.provider == "onnx" else None,
        embeds_remotely=settings.embeddings.is_remote,
        status_file=paths.status_file,
        embedder=embedder_of(settings, paths, os.environ),
        find_service=lambda: _service(settings.provider, os.environ),
        make_boards=lambda: [
            SerialBoard(board, paths.board_folder(board), SystemClock())
            for board in settings.every_board()
        ],
        needs_board=any(board.port for board in settings.every_board()),
        config=paths.config,
        refusal=refusal,
        holds_key=bool(settings.provider.api_key),
        environ=os.environ,
    )


def _service(settings: ProviderSettings, environ: Mapping[str, str]) -> Service | None:
    service = chosen_service(settings, environ)
    if service is None:
        return None
    credential = find_key(settings, environ, service)
    url = endpoint(settings.base_url or service.url, service.usual_path)
    return Service(url, credential.source if credential else "")
