"""The table of a day over real servers: what was lost, what came twice, what memory did."""

import statistics
from collections.abc import Iterator, Sequence

from scripts.lib.bench.channels_day import Day
from scripts.lib.bench.channels_seen import Message
from scripts.lib.bench.correspondents.base import ANSWER, Correspondents
from scripts.lib.bench.table import NO_BAR, Row
from scripts.lib.places import ROOT

PEOPLE = 4
RSS_BUDGET = 0.10
_TENTH = 10
# Fewer samples than this of a tenth say nothing of memory
_FEWEST_SAMPLES = 5
GUIDE = ROOT / "agent" / "channels" / "README.md"
# Of XMPP's servers, which the one here is not
WITHOUT_ARCHIVE = (
    "without an archive at the server (XEP-0313) an answer whose receipt was lost may come twice"
)


def rows_of(day: Day, took_s: float) -> Iterator[Row]:
    for platform in day.people:
        yield delivered(
            platform, [one for one in day.messages if one.platform == platform.name], day
        )
    yield growth(day)
    told = day.troubles
    yield Row(
        f"{len(day.messages):,} messages of {PEOPLE} people on each platform",
        NO_BAR,
        f"{day.answered / took_s:.1f} per second, {day.unsent} answers unsent at the end",
        f"{told.cuts} cuts, {told.kills} kills, {told.slow_lines} slow lines,"
        f" {told.refusals} times busy",
        None,
    )


def delivered(platform: Correspondents, messages: Sequence[Message], day: Day) -> Row:
    counts = [day.counts[f"{ANSWER}{one.text}"] for one in messages]
    cut_off = sum(one.is_cut_off for one in messages)
    lost = sum(
        not count and not one.is_cut_off for one, count in zip(messages, counts, strict=True)
    )
    twice = sum(count > 1 for count in counts)
    taken_s = sorted(one.took_s for one in messages if one.took_s)
    says = guide_allows_twice(platform.name)
    again = f"; {cut_off} written again after the agent went" if cut_off else ""
    return Row(
        platform.name,
        f"0 lost{'' if says else ', 0 answered twice'}",
        f"{len(messages):,} sent, {len(taken_s):,} answered, {lost} lost, {twice} twice{again}",
        f"an answer takes {statistics.median(taken_s or [0]):.1f} s (p50),"
        f" {taken_s[int(len(taken_s) * 0.95)] if taken_s else 0:.1f} s (p95),"
        f" {max(taken_s, default=0):.0f} s at most",
        lost == 0 and (says or twice == 0),
    )


def guide_allows_twice(name: str) -> bool:
    """Return true if the guide's table says that an answer may come twice there."""
    rows = GUIDE.read_text(encoding="utf-8").splitlines()
    [row] = [row for row in rows if row.lower().startswith(f"| {name} |")]
    return "an answer whose receipt was lost may come twice" in row.replace(WITHOUT_ARCHIVE, "")


def growth(day: Day) -> Row:
    """Compare the first and the last tenth of the life that follows the last kill."""
    life = [one for one in day.samples if one.life == day.troubles.kills]
    begun, ended = life[0].answered, life[-1].answered
    tenth = (ended - begun) / _TENTH
    first = [one.rss_kib for one in life if one.answered <= begun + tenth]
    last = [one.rss_kib for one in life if one.answered >= ended - tenth]
    before, after = statistics.median(first) / 1024, statistics.median(last) / 1024
    is_enough = min(len(first), len(last)) >= _FEWEST_SAMPLES
    return Row(
        f"memory in the last tenth of {ended - begun:,} answers",
        f"<= {RSS_BUDGET:.0%} more",
        f"{after / before - 1:+.1%} ({after:.1f} MB)",
        f"{before:.1f} MB in the first tenth",
        after <= before * (1 + RSS_BUDGET) if is_enough else None,
    )
