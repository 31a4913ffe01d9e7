"""`barnacle doctor`: what is wrong, and what to do about it; exit status 1 when something failed."""

import asyncio
import os
from argparse import Namespace
from collections.abc import Mapping

from agent.cli import exits, surroundings
from agent.cli.output import clean, say_json
from agent.errors import ConfigRefused
from agent.health.base import Check, Finding, Level, Patient
from agent.health.checks import (
    board,
    clock,
    config,
    databases,
    embeddings,
    provider,
    python,
    state,
)
from agent.health.doctor import examine
from agent.settings import Settings, find_config, find_paths

CHECKS: Mapping[str, Check] = {
    "python": python.check,
    "config": config.check,
    "state": state.check,
    "databases": databases.check,
    "clock": clock.check,
    "board": board.check,
    "embeddings": embeddings.check,
    "provider": provider.check,
}
_MARKS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.FAILED: "FAILED "}


def run(arguments: Namespace) -> int:
    findings = asyncio.run(examine(_patient(arguments), CHECKS))
    if arguments.json:
        say_json({name: _as_json(finding) for name, finding in findings.items()})
    else:
        for name, finding in findings.items():
            print(f"{_MARKS[finding.level]}  {name:<10}  {clean(finding.sentence)}")
    failed = any(finding.level is Level.FAILED for finding in findings.values())
    return exits.FAILED if failed else exits.OK


def _as_json(finding: Finding) -> dict[str, str]:
    return {"level": finding.level.value, "sentence": finding.sentence}


def _patient(arguments: Namespace) -> Patient:
    """A refused configuration is a finding: everything else is looked at with the defaults."""
    try:
        settings, paths = surroundings.of(arguments)
        refusal = ""
    except ConfigRefused as err:
        settings, refusal = Settings(), str(err)
        state = getattr(arguments, "state_dir", None)
        paths = find_paths(os.environ, settings, find_config(os.environ), state)
    return Patient(
        state_dir=paths.state_dir,
        databases=(paths.agent_db, paths.brain_db),
        model_dir=paths.model_dir,
        status_file=paths.status_file,
        config=paths.config,
        refusal=refusal,
        environ=os.environ,
        provider=settings.provider,
        board=settings.board,
    )
