"""`barnacle doctor`: what is wrong and what to do; exit status 1 when something failed.

`--fix` puts right first what is the agent's own, and says what it did.
"""

import asyncio
import os
from argparse import Namespace
from collections.abc import Mapping

from agent.cli import exits, of_service
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
    settings,
    skills,
    spending,
    state,
    update,
)
from agent.health.doctor import examine, mend
from agent.health.repairs import folders, indexes, leftovers, rights
from agent.health.repairs import service as service_repair
from agent.health.repairs.base import Repair

CHECKS: Mapping[str, Check] = {
    "python": python.check,
    "config": config.check,
    "settings": settings.check,
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


# In this order: what a later one looks at is there by then
REPAIRS: Mapping[str, Repair] = {
    "folders": folders.repair,
    "leftovers": leftovers.repair,
    "indexes": indexes.repair,
    # After what root may have made
    "rights": rights.repair,
    "service": service_repair.repair,
}


def run(arguments: Namespace) -> int:
    of_service.adopt(os.environ, arguments)
    deeds, findings = asyncio.run(_seen_to(patient_of(arguments), fix=arguments.fix))
    if arguments.json:
        found = {name: _as_json(finding) for name, finding in findings.items()}
        say_json({"repairs": deeds, "checks": found} if arguments.fix else found)
    else:
        for deed in deeds:
            mark = "fixed  " if deed["done"] else "to do  "
            print(f"{mark}  {deed['repair']:<10}  {clean(str(deed['sentence']))}")
        if arguments.fix and not deeds:
            print("fixed    nothing     there was nothing that can be put right from here")
        for name, finding in findings.items():
            print(f"{_MARKS[finding.level]}  {name:<10}  {clean(finding.sentence)}")
    failed = any(finding.level is Level.FAILED for finding in findings.values())
    return exits.FAILED if failed else exits.OK


def checks_of(patient: Patient) -> Mapping[str, Check]:
    """Every check, with one for each platform that is configured."""
    return {**CHECKS, **platforms.checks_of(patient)}


async def _seen_to(
    patient: Patient, *, fix: bool
) -> tuple[list[dict[str, object]], dict[str, Finding]]:
    """Repair what can be repaired; return the deeds and the findings after that."""
    try:
        done = [
            {"repair": name, "done": deed.is_done, "sentence": deed.sentence}
            async for name, deed in mend(patient, REPAIRS if fix else {})
        ]
        return done, await examine(patient, checks_of(patient))
    finally:
        await patient.embedder.aclose()


def _as_json(finding: Finding) -> dict[str, str]:
    return {"level": finding.level.value, "sentence": finding.sentence}
