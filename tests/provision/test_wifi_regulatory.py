from pathlib import Path

import pytest

from agent.provision import wifi


def test_a_kernel_without_a_radio_is_told_nothing() -> None:
    if Path("/sys/module/cfg80211").exists():
        pytest.skip("here is a radio, whose country is not ours to set")
    assert wifi.set_country("DE") is False


def test_the_number_of_the_family_is_found_among_other_attributes() -> None:
    name = b"\x0c\x00\x02\x00nl80211\x00"
    number = b"\x06\x00\x01\x00\x1c\x00\x00\x00"
    header = wifi._HEADER.pack(16 + 4 + len(name) + len(number), 16, 0, 1, 1)
    assert wifi._family(header + b"\x01\x02\x00\x00" + name + number) == 28


def test_a_refusal_is_no_family() -> None:
    header = wifi._HEADER.pack(36, 2, 0, 1, 1)
    refused = header + (-2).to_bytes(4, "little", signed=True) + bytes(16)
    assert wifi._family(refused) is None
    assert wifi._error(refused) == 2
