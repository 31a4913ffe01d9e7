"""Way to the program that checks and writes the configuration: started for one request, as ours."""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from agent.app.console.settings_request import (
    MAX_BYTES,
    SettingsAnswer,
    SettingsErrand,
    SettingsRequest,
)
from agent.errors import ConfigRefused
from agent.security.environment import own_environment

# A slow card loads Python and every configured platform; what takes longer hangs
PROGRAM_TIMEOUT_S = 60.0
_PROGRAM = "agent.provision.settings_change"
_FAILED = "the program that writes the configuration failed: `barnacle check` says more"


async def ask_program(config: Path, request: SettingsRequest) -> SettingsAnswer:
    """Return the answer of the program.

    Raises:
        ConfigRefused: it gave none; nothing, or the whole change, was written.
    """
    errand = SettingsErrand(request, dict(os.environ))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", _PROGRAM, str(config)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=MAX_BYTES,
        env=own_environment(os.environ),
    )
    try:
        async with asyncio.timeout(PROGRAM_TIMEOUT_S):
            said, _ = await process.communicate(msgspec.json.encode(errand))
        return msgspec.json.decode(said, type=SettingsAnswer)
    except (TimeoutError, msgspec.MsgspecError) as err:
        raise ConfigRefused(_FAILED) from err
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
