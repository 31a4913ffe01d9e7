"""`barnacle doctor`: what is wrong and what to do; exit status 1 when something failed."""

import asyncio
from argparse import Namespace
from collections.abc import Mapping

from agent.cli import exits
from agent.cli.output import clean, say_json
from agent.cli.patient import patient_of
from agent.health.base import Check, Finding, Level, Patient
from agent.health.checks import (
    audit,
    board,
    camera,
    card,
    channels,
    chat,
    clock,
    config,
    databases,
    disk,
    dns,
    documents,
    embeddings,
    enable,
    estop,
    firmware,
    gateway,
    i2c,
    jobs,
    journal,
    mcp,
    memory,
    model,
    network,
    people,
    permissions,
    pins,
    platforms,
    power,
    prompt,
    provider,
    python,
    sandbox,
    screen,
    service,
    skills,
    spending,
    state,
    update,
)
from agent.health.doctor import examine

CHECKS: Mapping[str, Check] = {
    "python": python.check,
    "config": config.check,
    "state": state.check,
    "disk": disk.check,
    "card": card.check,
    "access": permissions.check,
    "databases": databases.check,
    "audit": audit.check,
    "memory": memory.check,
    "clock": clock.check,
    "power": power.check,
    "network": network.check,
    "dns": dns.check,
    "journal": journal.check,
    "service": service.check,
    "update": update.check,
    "chat": chat.check,
    "channels": channels.check,
    "people": people.check,
    "jobs": jobs.check,
    "board": board.check,
    "firmware": firmware.check,
    "estop": estop.check,
    "enable": enable.check,
    "pins": pins.check,
    "i2c": i2c.check,
    "camera": camera.check,
    "screen": screen.check,
    "sandbox": sandbox.check,
    "model": model.check,
    "embeddings": embeddings.check,
    "documents": documents.check,
    "skills": skills.check,
    "prompt": prompt.check,
    "mcp": mcp.check,
    "gateway": gateway.check,
    "provider": provider.check,
    "spending": spending.check,
}
_MARKS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.FAILED: "FAILED "}


def run(arguments: Namespace) -> int:
    findings = asyncio.run(_examined(patient_of(arguments)))
    if arguments.json:
        say_json({name: _as_json(finding) for name, finding in findings.items()})
    else:
        for name, finding in findings.items():
            print(f"{_MARKS[finding.level]}  {name:<10}  {clean(finding.sentence)}")
    failed = any(finding.level is Level.FAILED for finding in findings.values())
    return exits.FAILED if failed else exits.OK


def checks_of(patient: Patient) -> Mapping[str, Check]:
    """Every check, with one for each platform that is configured."""
    return {**CHECKS, **platforms.checks_of(patient)}


async def _examined(patient: Patient) -> dict[str, Finding]:
    try:
        return await examine(patient, checks_of(patient))
    finally:
        await patient.embedder.aclose()


def _as_json(finding: Finding) -> dict[str, str]:
    return {"level": finding.level.value, "sentence": finding.sentence}
