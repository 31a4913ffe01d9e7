from pathlib import Path

import pytest

from agent.app.console.settings_openings import openings
from agent.app.console.settings_request import Opening
from agent.config import decode
from agent.settings import Settings

_GREENHOUSE = "[devices.others.greenhouse]\nkey_file = '/x'\n"
_PUMP = "[pins.pump]\ngpio = 17\n"
_EEPROM = "[i2c.eeprom]\naddress = 0x50\n"


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
        # Others may look and switch by what is lent to them
        ("", _GREENHOUSE, [Opening.WAYS_IN]),
        (_GREENHOUSE, f"{_GREENHOUSE}lend = ['pump']", [Opening.WAYS_IN]),
        ("", "[browser]", [Opening.PROGRAMS]),
        ("[browser]", "[browser]\nprogram = '/tmp/x'", [Opening.PROGRAMS]),
        ("", "[memory]\nlucid_program = '/tmp/x'", [Opening.PROGRAMS]),
        # Of this machine's pins nobody but the agent knows a limit
        (_PUMP, f"{_PUMP}danger = 'actuate'", [Opening.PINS]),
        ("", f"{_PUMP}danger = 'actuate'", [Opening.PINS]),
        (f"{_PUMP}max_on_s = 5", f"{_PUMP}max_on_s = 9", [Opening.PINS]),
        (f"{_PUMP}max_on_s = 5", _PUMP, [Opening.PINS]),
        (_PUMP, f"{_PUMP}safe = 'on'", [Opening.PINS]),
        (f"{_PUMP}danger = 'actuate'", f"{_PUMP}max_on_s = 5", []),
        ("", _PUMP, []),
        (f"{_PUMP}danger = 'actuate'", "", []),
        (_EEPROM, f"{_EEPROM}write = 'hazard'", [Opening.PINS]),
        (f"{_EEPROM}write = 'hazard'", f"{_EEPROM}write = 'actuate'", [Opening.PINS]),
        (f"{_EEPROM}write = 'hazard'", _EEPROM, []),
        (
            "",
            "[agent]\nautonomy = 'full'\n[console]\nlisten = '0.0.0.0:1'",
            [Opening.WAYS_IN, Opening.LIMITS],
        ),
    ],
)
def test_what_opens_something_is_found(before: str, after: str, opened: list[Opening]) -> None:
    assert list(openings(settings(before), settings(after))) == opened
