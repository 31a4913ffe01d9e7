import msgspec
import pytest

from agent.link.settings import BoardSettings


def test_defaults_need_no_table() -> None:
    settings = msgspec.convert({}, BoardSettings)
    assert (settings.name, settings.port, settings.baud, settings.lease_ms) == (
        "board",
        "",
        115_200,
        2_000,
    )


@pytest.mark.parametrize(
    "table",
    [
        {"name": "Board"},
        {"name": ""},
        {"baud": 300},
        {"lease_ms": 199},
        {"lease_ms": 10_001},
        {"prot": "/dev/x"},
    ],
)
def test_what_cannot_be_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(table, BoardSettings)
