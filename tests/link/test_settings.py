import msgspec
import pytest

from agent.link.settings import BoardSettings


def test_defaults_need_no_table() -> None:
    settings = msgspec.convert({}, BoardSettings)
    assert (settings.name, settings.port, settings.baud, settings.lease_ms) == (
        "board",
        "",
        "auto",
        2_000,
    )


@pytest.mark.parametrize(
    "table",
    [
        {"name": "Board"},
        {"name": ""},
        {"baud": 300},
        {"baud": "fast"},
        {"lease_ms": 199},
        {"lease_ms": 10_001},
        {"prot": "/dev/x"},
    ],
)
def test_what_cannot_be_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(table, BoardSettings)


def test_a_watch_may_say_or_ask() -> None:
    table = {"watch": {"dry": {"pin": "soil", "below": 0.8, "say": "Dry: {value}."}}}
    watch = msgspec.convert(table, BoardSettings).watch["dry"]
    assert (watch.pin, watch.below, watch.above, watch.at_most_per_hour) == ("soil", 0.8, None, 6)


@pytest.mark.parametrize(
    "table",
    [
        {"below": 1},
        {"pin": "a0", "below": 1, "above": 2},
        {"pin": "a0", "say": "x", "ask": "y"},
        {"pin": "a0", "at_most_per_hour": 0},
    ],
)
def test_a_watch_that_cannot_be_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"watch": {"one": table}}, BoardSettings)


@pytest.mark.parametrize(
    ("baud", "start", "top"), [("auto", 115_200, 921_600), (9_600, 9_600, 9_600)]
)
def test_a_number_is_that_rate_and_no_other(baud: object, start: int, top: int) -> None:
    settings = msgspec.convert({"baud": baud}, BoardSettings)
    assert (settings.start_baud, settings.top_baud) == (start, top)
