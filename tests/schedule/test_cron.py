from itertools import islice

import pytest

from agent.errors import BadArguments
from agent.schedule.cron import check, slots


@pytest.mark.parametrize("good", ["0 8 * * *", "*/15 9-17 * * MON-FRI", "0 0 29 2 *"])
def test_an_expression_of_five_fields_is_one(good: str) -> None:
    check(good)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("every day", "five fields"),
        ("0 8 * * * *", "five fields"),
        ("0 25 * * *", "bad hour"),
        ("61 * * * *", "bad minute"),
        ("0 8 31 2 *", "bad day-of-month"),
    ],
)
def test_anything_else_is_refused_with_the_field(bad: str, why: str) -> None:
    with pytest.raises(BadArguments, match=why):
        check(bad)


def test_times_come_in_order_after_the_moment() -> None:
    assert list(islice(slots("*/20 * * * *", 1200.0, None), 3)) == [2400.0, 3600.0, 4800.0]
