"""The clock, the computer and the board in sentences."""

import pytest

from tests.providers.offline.talk import Talk

FRIDAY = {"time": "2026-11-20T19:26:39+00:00", "weekday": "Friday", "timezone": "UTC"}
COMPUTER = {
    "load_1min": 0.12,
    "memory_free_mb": 210,
    "memory_total_mb": 427,
    "disk_free_mb": 9000,
    "disk_total_mb": 15000,
    "temperature_c": 48.3,
    "throttled": ["under-voltage"],
    "wifi": {"interface": "wlan0", "signal_dbm": -56, "quality_percent": 77},
    "card": {"life_used_percent": None, "errors": 3},
    "uptime_s": 12345,
}
READY = {
    "state": "ready",
    "board": "weact-blackpill-f411",
    "firmware": "0.1.0",
    "port": "/dev/ttyACM0",
    "pins": [{"name": "led", "can": ["in", "out"]}, {"name": "pump", "can": ["out"]}],
    "methods": ["gpio_write", "gpio_read"],
}


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("what time is it?", "It is 19:26, Friday 2026-11-20 (UTC)."),
        ("现在几点?", "现在是 2026-11-20 星期五 19:26（UTC）。"),
        ("今何時?", "今は 19:26、2026-11-20(金曜日)です(UTC)。"),
        ("지금 몇 시야?", "지금은 2026-11-20 금요일 19:26입니다(UTC)."),
        ("Wie spät ist es?", "Es ist 19:26, Freitag, 2026-11-20 (UTC)."),
        ("¿Qué hora es?", "Son las 19:26, viernes 2026-11-20 (UTC)."),
    ],
)
async def test_the_time_is_told(said: str, answer: str) -> None:
    assert await Talk(results={"time_now": FRIDAY}).ask(said) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("how much memory is free?", "210 of 427 MB of memory are free."),
        ("how full is the disk?", "9000 of 15000 MB on the disk are free."),
        ("how long has the computer been running?", "It has been running for 3 h 25 min."),
        ("还有多少内存?", "内存还剩 210 MB，共 427 MB。"),
        ("how is the wifi?", "The Wi-Fi signal is 77 %."),
        ("Wie gut ist das WLAN?", "Das WLAN-Signal ist bei 77 %."),
        ("无线网络怎么样?", "无线信号是 77 %。"),
        ("¿cómo está la wifi?", "La señal wifi es del 77 %."),
        ("와이파이 어때?", "와이파이 신호: 77 %."),
        ("Wi-Fiはどう?", "Wi-Fi の電波は 77 % です。"),
    ],
)
async def test_of_the_computer_only_what_was_asked_is_told(said: str, answer: str) -> None:
    assert await Talk(results={"system_info": COMPUTER}).ask(said) == answer


async def test_asked_how_the_computer_is_it_tells_everything_that_it_knows() -> None:
    known = {**COMPUTER, "temperature_c": None, "throttled": None, "wifi": None, "card": None}
    text = await Talk(results={"system_info": known}).ask("how is the computer?")
    assert text.count("free") == 2
    assert "°C" not in text
    assert "Wi-Fi" not in text
    assert "card" not in text
    text = await Talk(results={"system_info": COMPUTER}).ask("how is the computer?")
    assert "The computer is at 48.3 °C." in text
    assert "It is slowed down: under-voltage." in text
    assert "The Wi-Fi signal is 77 %. The card has had 3 errors." in text


async def test_the_board_is_told_with_its_pins() -> None:
    text = await Talk(results={"board_info": READY}).ask("what is connected?")
    assert text == (
        "The board is ready. Model: weact-blackpill-f411. Firmware: 0.1.0. "
        "Port: /dev/ttyACM0. Pins: led, pump."
    )


async def test_a_board_that_cannot_be_used_is_told_with_its_trouble() -> None:
    away = {"state": "refused", "board": "", "pins": [], "trouble": "it speaks version 9"}
    text = await Talk(results={"board_info": away}).ask("what is connected?")
    assert text == "The board is connected but not usable. Trouble: it speaks version 9."
    text = await Talk(results={"board_info": {"state": "absent", "pins": []}}).ask("连接了什么?")
    assert text == "板子未连接。"


async def test_a_time_that_is_none_is_told_as_it_is() -> None:
    odd = {"time": "teatime", "weekday": "Friday"}
    text = await Talk(results={"time_now": odd}).ask("what time is it?")
    assert text == "time: teatime\nweekday: Friday"
