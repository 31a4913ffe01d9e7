"""`barnacle doctor`: what is wrong and what to do; exit status 1 when something failed.

`--fix` puts right first what is the agent's own, and says what it did. `--report` prints a form
about the hardware, to send back.
"""

import asyncio
import os
from argparse import Namespace
from collections.abc import Mapping

from agent import __version__
from agent.cli import exits
from agent.cli.output import clean, say_json
from agent.cli.patient import patient_of
from agent.cli.service import STATE, adopt
from agent.health.base import Check, Finding, Level, Patient
from agent.health.checks.board import check_board, check_enable, check_estop, check_firmware
from agent.health.checks.channels import (
    check_channels,
    check_chat,
    check_gateway,
    check_people,
    platform_checks,
)
from agent.health.checks.config import (
    check_config,
    check_jobs,
    check_mcp,
    check_prompt,
    check_settings,
    check_skills,
)
from agent.health.checks.home import home_checks
from agent.health.checks.machine import (
    check_camera,
    check_clock,
    check_i2c,
    check_pins,
    check_power,
    check_python,
    check_screen,
)
from agent.health.checks.memory import check_documents, check_embeddings, check_memory, check_model
from agent.health.checks.network import check_dns, check_network, check_provider, check_spending
from agent.health.checks.security import check_audit, check_permissions, check_sandbox
from agent.health.checks.service import check_journal, check_service, check_update
from agent.health.checks.storage import (
    check_backup,
    check_card,
    check_databases,
    check_disk,
    check_state,
)
from agent.health.doctor import examine, mend
from agent.health.repairs.base import Repair
from agent.health.repairs.service import restart_service
from agent.health.repairs.storage import (
    make_folders,
    rebuild_indexes,
    remove_leftovers,
    restrict_access,
)
from agent.machine.hardware_form import form
from agent.machine.readings import Readings

CHECKS: Mapping[str, Check] = {
    "python": check_python,
    "config": check_config,
    "settings": check_settings,
    "state": check_state,
    "disk": check_disk,
    "card": check_card,
    "backup": check_backup,
    "access": check_permissions,
    "databases": check_databases,
    "audit": check_audit,
    "memory": check_memory,
    "clock": check_clock,
    "power": check_power,
    "network": check_network,
    "dns": check_dns,
    "journal": check_journal,
    "service": check_service,
    "update": check_update,
    "chat": check_chat,
    "channels": check_channels,
    "people": check_people,
    "jobs": check_jobs,
    "board": check_board,
    "firmware": check_firmware,
    "estop": check_estop,
    "enable": check_enable,
    "pins": check_pins,
    "i2c": check_i2c,
    "camera": check_camera,
    "screen": check_screen,
    "sandbox": check_sandbox,
    "model": check_model,
    "embeddings": check_embeddings,
    "documents": check_documents,
    "skills": check_skills,
    "prompt": check_prompt,
    "mcp": check_mcp,
    "gateway": check_gateway,
    "provider": check_provider,
    "spending": check_spending,
}
_MARKS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.FAILED: "FAILED "}


# In this order: what a later one looks at is there by then
REPAIRS: Mapping[str, Repair] = {
    "folders": make_folders,
    "leftovers": remove_leftovers,
    "indexes": rebuild_indexes,
    # After what root may have made
    "rights": restrict_access,
    "service": restart_service,
}


def run(arguments: Namespace) -> int:
    adopt(os.environ, arguments)
    if arguments.report:
        print(form(Readings(STATE), __version__))
        return exits.OK
    deeds, findings = asyncio.run(_seen_to(patient_of(arguments), fix=arguments.fix))
    if arguments.json:
        found = {name: _as_json(finding) for name, finding in findings.items()}
        say_json({"repairs": deeds, "checks": found} if arguments.fix else found)
    else:
        for deed in deeds:
            mark = "fixed  " if deed["done"] else "to do  "
            print(f"{mark}  {deed['repair']:<10}  {clean(str(deed['sentence']))}")
        if arguments.fix and not deeds:
            print("fixed    nothing     found nothing to repair")
        for name, finding in findings.items():
            print(f"{_MARKS[finding.level]}  {name:<10}  {clean(finding.sentence)}")
    failed = any(finding.level is Level.FAILED for finding in findings.values())
    return exits.FAILED if failed else exits.OK


def checks_of(patient: Patient) -> Mapping[str, Check]:
    """Every check, with one for each platform and each part of a home that is configured."""
    return {**CHECKS, **platform_checks(patient), **home_checks(patient)}


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
