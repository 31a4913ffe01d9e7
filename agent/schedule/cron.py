"""Times of a cron expression in the local time zone, as seconds since the epoch.

Around the change to and from summer time as Debian's cron: a time that does not exist comes right
after the gap, one that exists twice comes once; what comes every few minutes or hours goes on.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo

from agent.errors import BadArguments

# cronsim also takes seconds; nothing here is looked at that often
_FIELDS = 5
# An expression that names as many times within one search is answered with those
_MOST_SLOTS = 5000


def check(expression: str) -> None:
    """Raise BadArguments with the fault if it is no expression of five fields."""
    if next(slots(expression, 0.0, None), None) is None:
        raise BadArguments(f"{expression!r} never comes")


def trouble_with(expression: str) -> str:
    """Return the fault of an expression; "" if it has none."""
    try:
        check(expression)
    except BadArguments as err:
        return str(err)
    return ""


def slots(expression: str, after_s: float, zone: tzinfo | None) -> Iterator[float]:
    """Yield the times after that moment, in order.

    Args:
        zone: None is UTC, where every day is alike.

    Raises:
        BadArguments: it is no cron expression.
    """
    if len(expression.split()) != _FIELDS:
        raise BadArguments(
            f"{expression!r} is not a cron expression: it needs five fields, minute hour day month "
            "weekday, such as 30 7 * * 1-5 for 07:30 on working days"
        )
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 - only where there is such a job

    start = datetime.fromtimestamp(after_s, zone or UTC)
    try:
        times = CronSim(expression, start)
    except CronSimError as err:
        raise BadArguments(f"{expression!r} is not a cron expression: {str(err).lower()}") from err
    for _, time in zip(range(_MOST_SLOTS), times, strict=False):
        # Within the hour that comes twice it counts from the first one
        if (slot_s := time.timestamp()) > after_s:
            yield slot_s
