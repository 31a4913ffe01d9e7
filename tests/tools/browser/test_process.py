import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.errors import BrowserFailed, SandboxBroken
from agent.net.http import HttpClient
from agent.security.sandbox.base import SandboxJob, SandboxOutcome
from agent.security.sandbox.systemd import SystemdSandbox
from agent.security.web_addresses import WebRules
from agent.tools.browser import process as browser_process
from agent.tools.browser.page import BrowserPage
from agent.tools.browser.process import FLOOR_MB, BrowserProcess, BrowserSetup
from agent.tools.web import Web
from tests.fakes.hostile_site import FURTHER, HostileSite, hostile_sites
from tests.fakes.real_browser import no_browser, setup_for
from tests.fakes.sandbox import activated, no_activation
from tests.waits import wait_until


class BrokenSandbox:
    """Starts nothing: the job ends at once, or cannot even begin."""

    name = "broken"

    def __init__(self, outcome: SandboxOutcome | None) -> None:
        self._outcome = outcome
        self.jobs: list[SandboxJob] = []

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        self.jobs.append(job)
        if self._outcome is None:
            raise SandboxBroken("the sandbox cannot be reached")
        return self._outcome


class SilentSandbox(BrokenSandbox):
    """The job never hands its port over."""

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        self.jobs.append(job)
        await asyncio.Event().wait()
        raise AssertionError("it is only ever cancelled")


def setup_in(sandbox: BrokenSandbox) -> BrowserSetup:
    web = Web(HttpClient(), WebRules())
    return BrowserSetup("/usr/lib/chromium/chromium", sandbox, web, 512, lambda: 4096)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (SandboxOutcome(1, b"", b"trouble\nlibnss3.so: not found\n"), "libnss3.so: not found"),
        (SandboxOutcome(0, b"", b""), "it ended at once"),
        (None, "cannot be reached"),
    ],
)
async def test_a_browser_that_does_not_start_says_why(
    outcome: SandboxOutcome | None, reason: str
) -> None:
    process = BrowserProcess(setup_in(BrokenSandbox(outcome)))
    with pytest.raises(BrowserFailed, match=reason):
        await process.start()
    await process.close()
    assert not process.is_usable


async def test_one_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_process, "START_TIMEOUT_S", 0.05)
    process = BrowserProcess(setup_in(SilentSandbox(None)))
    with pytest.raises(BrowserFailed, match="did not start within"):
        await process.start()
    await process.close()
    assert not process.is_alive


async def test_it_gets_no_network_no_workspace_and_a_fixed_environment() -> None:
    sandbox = BrokenSandbox(SandboxOutcome(0, b"", b""))
    process = BrowserProcess(setup_in(sandbox))
    with pytest.raises(BrowserFailed):
        await process.start()
    await process.close()
    (job,) = sandbox.jobs
    assert (job.is_online, job.folder, job.home, job.writes) == (False, None, None, False)
    assert set(job.environment) == {"PATH", "LANG", "HOME"}
    assert job.memory_bytes == 512 * 1024**2
    assert "--proxy-bypass-list=<-loopback>" in job.argv
    assert not any(str(Path.cwd() / "agent") == str(one) for one in job.needs)


@pytest.mark.skipif(
    bool(no_browser() or no_activation()), reason=no_browser() or no_activation() or "there is one"
)
async def test_it_starts_behind_the_runner_of_our_unit_as_well(tmp_path: Path) -> None:
    with hostile_sites(FURTHER) as sites, activated(tmp_path / "socket"):
        plain = setup_for(*sites)
        sandbox = SystemdSandbox(tmp_path, tmp_path / "socket")
        process = BrowserProcess(replace(plain, sandbox=sandbox))
        try:
            await process.start()
            view = await BrowserPage(process, plain.web).open(f"{sites[0].url}/two")
            assert view.reading.title == "Two"
        finally:
            await process.close()


@pytest.mark.skipif(bool(no_browser()), reason=no_browser() or "there is one")
async def test_it_ends_before_the_machine_has_no_memory_left() -> None:
    free_mb = [4096]
    setup = setup_for(HostileSite(1))
    process = BrowserProcess(replace(setup, free_mb=lambda: free_mb[0]))
    try:
        await process.start()
        assert process.is_usable
        free_mb[0] = FLOOR_MB - 1
        await wait_until(lambda: not process.is_alive)
        assert "99 MB of memory left" in process.end_reason
    finally:
        await process.close()
