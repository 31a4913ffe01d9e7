from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.settings import Settings


def read(text: str) -> Settings:
    return decode(text, Settings, Path("x.toml"))


def test_pins_and_devices_of_this_machine_have_names_of_ones_own() -> None:
    settings = read(
        '[pins.fan]\ngpio = 17\nmax_on_s = 60\ndanger = "actuate"\naliases = ["Lüfter"]\n'
        '[pins.door]\ngpio = 27\nkind = "input"\npull = "up"\nactive = "low"\n'
        '[i2c.sensor]\naddress = 0x76\n[i2c.relay]\nbus = 1\naddress = 0x20\nwrite = "hazard"\n'
    )
    assert (settings.pins["fan"].gpio, settings.pins["fan"].max_on_s) == (17, 60)
    assert (settings.i2c["sensor"].address, settings.i2c["sensor"].write) == (0x76, "never")


def test_what_says_nothing_is_asked_about_and_only_read() -> None:
    settings = read("[pins.fan]\ngpio = 17\n[i2c.sensor]\naddress = 0x76\n")
    assert settings.pins["fan"].danger == "hazard"
    assert settings.i2c["sensor"].write == "never"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[pins.fan]\n", "gpio.*is missing"),
        ("[pins.fan]\ngpio = 273\n", "from 2 to 27, not 273"),
        ("[pins.fan]\ngpio = 0\n", "from 2 to 27, not 0"),
        ("[pins.fan]\ngpio = 17\nmax_on_s = 0\n", "max_on_s"),
        ('[pins.fan]\ngpio = 17\nsafe = "on"\nmax_on_s = 5\n', "cannot be on together"),
        ('[pins.door]\ngpio = 17\nkind = "input"\nsafe = "on"\n', "only for output"),
        ('[pins.fan]\ngpio = 17\npull = "up"\n', "only for input"),
        ('[pins.fan]\ngpio = 17\nkind = "pwm"\n', "kind"),
        ("[pins.a]\ngpio = 5\n[pins.b]\ngpio = 5\n", "GPIO 5 as b, but pins.a has it"),
        ("[board]\nenable_gpio = 17\n[pins.fan]\ngpio = 17\n", "enable_gpio of a board has it"),
        ("[pins.fan]\ngpio = 3\n[i2c.x]\naddress = 0x76\n", "I2C bus 1 has it"),
        ("[i2c.x]\naddress = 3\n", "8 to 119, not 3"),
        ('[i2c.x]\nwrite = "hazard"\n', "address.*is missing"),
    ],
)
def test_what_cannot_be_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(ConfigRefused, match=said):
        read(text)


def test_the_pins_of_a_bus_that_is_not_in_use_are_free() -> None:
    assert read("[pins.fan]\ngpio = 3\n[i2c.x]\nbus = 20\n").pins["fan"].gpio == 3
