from pathlib import Path

import pytest

from agent.app.console.settings_openings import openings
from agent.app.console.settings_request import Opening
from agent.config import decode
from agent.settings import Settings


def settings(text: str) -> Settings:
    return decode(text, Settings, Path("barnacle.toml"))


@pytest.mark.parametrize(
    ("before", "after", "opened"),
    [
        ("", "[agent]\nname = 'Rosa'", []),
        ("", "[log]\nlevel = 'debug'", []),
        ("", "[agent]\nautonomy = 'readonly'", []),
        ("", "[agent]\nautonomy = 'full'", [Opening.LIMITS]),
        ("[agent]\npresence_for = ['hazard']", "", [Opening.LIMITS]),
        ("", "[gateway]\nlisten = '127.0.0.1:1'", [Opening.WAYS_IN]),
        ("[gateway]", "[gateway]\nlisten = '0.0.0.0:1'", [Opening.WAYS_IN]),
        # What goes closes something
        ("[gateway]", "", []),
        ("[console]", "[console]\nenabled = false", [Opening.WAYS_IN]),
        ("", "[channels.telegram]\ntoken = '123:abc'", [Opening.WAYS_IN]),
        ("", "[shell]\nprograms = ['ls']", [Opening.PROGRAMS]),
        ("", "[mcp.x]\ncommand = ['x']", [Opening.PROGRAMS]),
        ("", "[hooks]\nmodules = ['a:B']", [Opening.PROGRAMS]),
        ("", "[web]\nlocal = ['10.0.0.1:80']", [Opening.REACH]),
        ("", "[provider]\nbase_url = 'http://10.0.0.1/v1'\nkind = 'openai'", [Opening.REACH]),
        ("", "[workspace]\nreadings = 'owner'", [Opening.SHARED]),
        ("", "[backup]\npassphrase_file = '/x'", [Opening.BACKUPS]),
        (
            "",
            "[agent]\nautonomy = 'full'\n[console]\nlisten = '0.0.0.0:1'",
            [Opening.WAYS_IN, Opening.LIMITS],
        ),
    ],
)
def test_what_opens_something_is_found(before: str, after: str, opened: list[Opening]) -> None:
    assert list(openings(settings(before), settings(after))) == opened
