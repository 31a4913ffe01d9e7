import pytest

from agent.errors import BadArguments
from tests.fakes.job_run import job


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "say when"),
        ({"cron": "0 8 * * *", "every_s": 60.0}, "say when"),
        ({"every_s": 60.0, "prompt": "Water them"}, "say what"),
        ({"every_s": 60.0, "message": ""}, "say what"),
        ({"every_s": 59.0}, "at least 1"),
        ({"every_s": 60.0, "message": "", "prompt": " /estop clear"}, "not a command"),
    ],
)
def test_a_job_says_one_time_and_one_thing(fields: dict[str, object], why: str) -> None:
    with pytest.raises(BadArguments, match=why):
        job(**fields)
