"""Our client against the protocol's own suite, which pretends servers and sign-ins.

At each version of the protocol that the client speaks. Extensions of the protocol, such as DPoP and
client credentials, are not claimed.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import mcp_suite
from tests.structure.sources import ROOT

_EVERY_SIGN_IN = (
    *("auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3"),
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
)
SCENARIOS = {
    "2025-03-26": (
        "auth/2025-03-26-oauth-metadata-backcompat",
        "auth/2025-03-26-oauth-endpoint-fallback",
    ),
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
        *_EVERY_SIGN_IN,
    ),
    # Without a greeting
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "json-schema-2020-12-preservation",
        "json-schema-ref-no-deref",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "sep-2322-client-request-state",
        *_EVERY_SIGN_IN,
        "auth/resource-mismatch",
        "auth/offline-access-scope",
        "auth/offline-access-not-supported",
        "auth/authorization-server-migration",
        "auth/iss-supported",
        "auth/iss-not-advertised",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
    ),
}

pytestmark = mcp_suite.NEEDED


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the command of our client, which waits for the scenarios."""
    folder = tmp_path_factory.mktemp("client")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.mcp_conformance_client", str(folder / "socket")],
        env=mcp_suite.environ(folder),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        caller = ROOT / "tests" / "fakes" / "mcp_conformance_caller.py"
        yield f"{sys.executable} -I -S {caller} {folder / 'socket'}"


@pytest.mark.parametrize(
    ("version", "scenario"),
    [(version, scenario) for version, every in SCENARIOS.items() for scenario in every],
)
def test_the_suite_is_content(tmp_path: Path, client: str, version: str, scenario: str) -> None:
    done = subprocess.run(
        [
            *mcp_suite.command("client", "--command", client, "--scenario", scenario),
            *("--spec-version", version, "--expected-failures", str(mcp_suite.EXPECTED)),
            *("--timeout", str(1000 * mcp_suite.LIMIT_S), "--output-dir", str(tmp_path)),
        ],
        env=mcp_suite.environ(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[-6000:]
    assert "SKIPPED:" not in told, told[-1000:]


@pytest.mark.parametrize("version", sorted(SCENARIOS))
def test_every_scenario_of_the_suite_is_run(tmp_path: Path, version: str) -> None:
    assert mcp_suite.scenarios("client", version, tmp_path) == set(SCENARIOS[version])
