import msgspec
import pytest

from agent.memory.settings import MemorySettings


def test_the_defaults_keep_and_recall() -> None:
    settings = MemorySettings()
    assert (settings.backend, settings.recall_limit, settings.min_score) == ("sqlite", 5, 0.4)


@pytest.mark.parametrize(
    "table",
    [{"backend": "cloud"}, {"recall_limit": 0}, {"recall_limit": 21}, {"min_score": 1.5}],
    ids=str,
)
def test_what_makes_no_sense_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(table, MemorySettings)
