from dataclasses import replace
from functools import partial

import pytest

from agent.channels.settings import SignalSettings
from agent.channels.signal.probing import probe
from agent.health.base import Level, Patient
from agent.health.checks import signal
from tests.fakes.signal_daemon import NUMBER, SignalDaemon, running


def looking_at(patient: Patient, url: str, account: str = "") -> Patient:
    wanted = SignalSettings(base_url=url, account=account)
    return replace(patient, probe_signal=partial(probe, wanted))


async def test_nobody_has_to_have_it(patient: Patient) -> None:
    finding = await signal.check(patient)
    assert finding.level is Level.OK
    assert "[channels.signal]" in finding.sentence


@pytest.mark.parametrize(
    ("daemon", "named"),
    [(SignalDaemon(), NUMBER), (SignalDaemon(is_single=True), "its only account")],
)
async def test_a_daemon_with_the_account_is_fine(
    patient: Patient, daemon: SignalDaemon, named: str
) -> None:
    async with running(daemon):
        finding = await signal.check(looking_at(patient, daemon.url))
    assert finding.level is Level.OK
    assert finding.sentence == f"signal-cli 0.13.19 is there with {named}"


async def test_a_daemon_that_is_away_is_a_warning_that_says_how_to_start_it(
    patient: Patient,
) -> None:
    finding = await signal.check(looking_at(patient, "http://127.0.0.1:1"))
    assert finding.level is Level.WARNING
    assert "start it by `signal-cli daemon --http`" in finding.sentence


async def test_an_account_that_is_not_there_has_failed(patient: Patient) -> None:
    async with running(SignalDaemon(accounts=[])) as daemon:
        finding = await signal.check(looking_at(patient, daemon.url, NUMBER))
    assert finding.level is Level.FAILED
    assert "barnacle signal link" in finding.sentence
