"""`barnacle models probe`: how far the configured model can be trusted with a board."""

import os
from argparse import Namespace

import msgspec

from agent.app.embedder import embedder_of
from agent.app.probe.meter import ProbeTimes, TimedProvider
from agent.app.probe.run import ModelProbe, ProbeReport, TaskOutcome
from agent.app.probe.tasks import TASKS, ProbeSkill
from agent.cli import configuration, exits
from agent.cli.loop import run_in_loop
from agent.cli.output import say, say_json
from agent.errors import ConfigRefused
from agent.net.http import HttpClient
from agent.providers.base import DirectProvider
from agent.providers.create import chain
from agent.providers.credentials import chosen_service
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock

# What each skill is, for people
_MEANING = {
    ProbeSkill.CALLS: "does what it is told",
    ProbeSkill.RESTRAINT: "does nothing unasked",
    ProbeSkill.REPAIR: "tells failures and tries again",
    ProbeSkill.LANGUAGES: "German, Spanish, French, Chinese",
}


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    service = chosen_service(settings.provider, os.environ)
    if service is None:
        raise ConfigRefused(
            "no model service configured: set provider.kind or provider.base_url, then try again"
        )
    model = settings.provider.model or service.model
    show = not arguments.json
    report = run_in_loop(_probe(settings, paths, show=show))
    if arguments.json:
        say_json(_as_json(report, service.name, model))
    else:
        say("\n".join(table(report, model, settings.provider.context_tokens)))
    return exits.OK


async def _probe(settings: Settings, paths: Paths, *, show: bool) -> ProbeReport:
    clock, http, times = SystemClock(), HttpClient(), ProbeTimes()
    # The model itself, not who answers in its place
    alone = msgspec.structs.replace(settings.provider, fallbacks=(), fallback_after_s=0.0)

    def timed(service: DirectProvider) -> TimedProvider:
        return TimedProvider(service, times, clock)

    provider = chain(alone, settings.providers, os.environ, http, clock, timed)
    embedder = embedder_of(settings, paths, os.environ, http)
    try:
        tell = _say_outcome if show else _say_nothing
        return await ModelProbe(provider, times, clock, embedder, tell).run()
    finally:
        await provider.aclose()
        await embedder.aclose()
        await http.aclose()


def _say_outcome(outcome: TaskOutcome) -> None:
    verdict = outcome.fault or "right"
    say(f"{outcome.task.skill.value}: {outcome.task.sentence} - {verdict}")


def _say_nothing(_outcome: TaskOutcome) -> None:
    """JSON has all of them at the end."""


def table(report: ProbeReport, model: str, window: int) -> list[str]:
    """Return the report as a table that Markdown understands."""
    times = report.times
    rows = [("what", model, "to be trusted")]
    for skill in ProbeSkill:
        right, every = report.of(skill)
        told = f"{skill.value}: {_MEANING[skill]}"
        rows.append((told, f"{right} of {every}", report.trust(skill)))
    rows += [
        ("calls that had to be repaired", str(report.repairs), ""),
        ("until the first token", f"{times.usual_first_s:.1f} s", ""),
        ("tokens per second", f"{times.tokens_per_s:.1f}", ""),
        ("largest request", f"{times.input_tokens} tokens", f"window {window or 'not set'}"),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |"
        for row in rows
    ]
    return ["", lines[0], f"|{'|'.join('-' * (width + 2) for width in widths)}|", *lines[1:]]


def _as_json(report: ProbeReport, service: str, model: str) -> dict[str, object]:
    times = report.times
    return {
        "service": service,
        "model": model,
        "skills": {
            skill.value: {
                "right": report.of(skill)[0],
                "tasks": report.of(skill)[1],
                "trust": report.trust(skill),
            }
            for skill in ProbeSkill
        },
        "faults": [
            {"sentence": one.task.sentence, "fault": one.fault}
            for one in report.outcomes
            if one.fault
        ],
        "repairs": report.repairs,
        "first_token_s": round(times.usual_first_s, 3),
        "tokens_per_s": round(times.tokens_per_s, 2),
        "largest_request_tokens": times.input_tokens,
        "tasks": len(TASKS),
    }
