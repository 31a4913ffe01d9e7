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


def test_postgres_needs_one_address() -> None:
    for table in (
        {"backend": "postgres"},
        {"postgres_url": "postgresql://x/y", "postgres_url_file": "/run/url"},
    ):
        with pytest.raises(msgspec.ValidationError, match="postgres_url"):
            msgspec.convert(table, MemorySettings, dec_hook=lambda kind, text: kind(text))
