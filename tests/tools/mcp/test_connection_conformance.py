"""Our client against the protocol's own suite, which pretends servers and sign-ins."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.sources import ROOT

_FAKES = ROOT / "tests" / "fakes"
# Where scripts/test puts it
_SUITE = ROOT / ".barnacle" / "mcp_conformance" / "node_modules"
_PROGRAM = _SUITE / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
# Each starts the bridge with the SDK, on a machine that may be busy
LIMIT_S = 90
SCENARIOS = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
)
# Left out: `basic-cimd` wants an address in the public web that describes us;
# `2025-03-26-oauth-metadata-backcompat` names another issuer than its own, which the SDK refuses

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node, which runs it"),
    pytest.mark.skipif(not _PROGRAM.exists(), reason=f"there is no {_PROGRAM}: run scripts/test"),
    pytest.mark.timeout(2 * LIMIT_S),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_suite_is_content(tmp_path: Path, scenario: str) -> None:
    client = f"{sys.executable} {_FAKES / 'mcp_conformance_client.py'}"
    done = subprocess.run(
        [
            *("node", "--import", str(_FAKES / "mcp_conformance" / "older_node.mjs")),
            *(str(_PROGRAM), "client", "--command", client, "--scenario", scenario),
            *("--timeout", str(1000 * LIMIT_S), "--output-dir", str(tmp_path)),
        ],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "0 failed, 0 warnings" in done.stdout + done.stderr
