"""Tables of what was understood: by class and language, each wrong act, and the bars."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from scripts.lib.bench.language_score import (
    CLASSES,
    CLOCK,
    IS_IT_ON,
    LEVEL,
    ON_OFF,
    OPEN_CLOSE,
    OTHER,
    TEMPERATURE,
    Said,
    Verdict,
)
from scripts.lib.bench.language_timers import CLASS as TIMERS
from scripts.lib.bench.table import NO_BAR, Row

_BARS = {
    ON_OFF: 95,
    OPEN_CLOSE: 90,
    LEVEL: 90,
    IS_IT_ON: 95,
    TEMPERATURE: 95,
    CLOCK: 95,
    TIMERS: 85,
}
# In fewer sentences one is more than a bar leaves room for
_FEWEST = 8
_P50_MS, _P99_MS, _MEMORY_MB = 10.0, 50.0, 10.0
_LEVELS = 101


def show_classes(said: Sequence[Said]) -> None:
    locales = sorted({one.case.locale for one in said})
    print("\nRight, % (of sentences) - asked - not understood - wrong")
    _print_row(["class", *locales])
    _print_row(["---"] * (len(locales) + 1))
    found = _by_class(said)
    for kind in CLASSES:
        cells = [_cell(found.get((kind, locale), [])) for locale in locales]
        _print_row([kind, *cells])


def _cell(said: Sequence[Said]) -> str:
    if not said:
        return "-"
    counts = Counter(one.verdict for one in said)
    rest = [counts[one] for one in (Verdict.ASKED, Verdict.NOT_UNDERSTOOD, Verdict.WRONG)]
    tail = " - ".join(map(str, rest))
    if said[0].case.kind == OTHER:
        return f"({len(said)}) {tail}"
    return f"{_share(said):.0f} ({len(said)}) {tail}"


def show_wrong(said: Sequence[Said]) -> None:
    wrong = [one for one in said if one.verdict is Verdict.WRONG]
    print(f"\nWrong acts: {len(wrong)} of {len(said):,} sentences")
    for one in wrong:
        print(f"  {one.case.locale} [{one.case.kind}] {one.case.sentence!r} -> {_told(one)}")


def show_sweep(swept: Mapping[str, Sequence[Said]]) -> None:
    print(f"\n0 to 100 %, right of {_LEVELS} / wrong")
    codes = list(dict.fromkeys(one.case.locale for one in swept["digits"]))
    _print_row(["", *codes])
    for kind, said in swept.items():
        _print_row([kind, *(_swept_cell([o for o in said if o.case.locale == c]) for c in codes)])


def _swept_cell(said: Sequence[Said]) -> str:
    counts = Counter(one.verdict for one in said)
    return f"{counts[Verdict.RIGHT]} / {counts[Verdict.WRONG]}"


def show_missed(said: Sequence[Said], kind: str) -> None:
    print("\nNot right")
    for one in said:
        missed = one.verdict is not Verdict.RIGHT and one.case.calls is not None
        if missed and (kind in {"all", one.case.kind}):
            print(f"  {one.case.locale} [{one.case.kind}] {one.case.sentence!r} -> {_told(one)}")


def _told(one: Said) -> str:
    calls = [f"{call.name} {call.arguments_json}" for call in one.response.tool_calls]
    return "; ".join(calls) or " ".join(one.response.text.split())[:120]


def class_rows(said: Sequence[Said]) -> Iterator[Row]:
    wrong = sum(one.verdict is Verdict.WRONG for one in said)
    yield Row("wrong acts", "0", f"{wrong} of {len(said):,}", "", wrong == 0)
    found = _by_class(said)
    for kind, bar in _BARS.items():
        for locale in sorted({one.case.locale for one in said}):
            of_locale = found.get((kind, locale), [])
            if not of_locale:
                continue
            share = _share(of_locale)
            told = f"{share:.1f} % of {len(of_locale)}"
            many = len(of_locale) >= _FEWEST
            wanted = f">= {bar} %" if many else NO_BAR
            yield Row(f"{kind}, {locale}", wanted, told, "", share >= bar if many else None)


def sweep_rows(swept: Mapping[str, Sequence[Said]]) -> Iterator[Row]:
    for kind, said in swept.items():
        for code in dict.fromkeys(one.case.locale for one in said):
            own = [one for one in said if one.case.locale == code]
            told = _swept_cell(own)
            whole = all(one.verdict is Verdict.RIGHT for one in own)
            yield Row(f"0-100 % in {kind}, {code}", f"{_LEVELS} / 0", told, "", whole)


def cost_rows(said: Sequence[Said], grown_mb: float) -> Iterator[Row]:
    took = sorted(one.took_ms for one in said)
    p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
    for name, took_ms, most in (("p50", p50, _P50_MS), ("p99", p99, _P99_MS)):
        what = f"processor time of a sentence, {name}"
        yield Row(what, f"<= {most:g} ms", f"{took_ms:.1f} ms", "", took_ms <= most)
    bar = f"<= {_MEMORY_MB:g} MB"
    yield Row("memory added", bar, f"{grown_mb:.1f} MB", "", grown_mb <= _MEMORY_MB)


def _by_class(said: Sequence[Said]) -> dict[tuple[str, str], list[Said]]:
    found: dict[tuple[str, str], list[Said]] = defaultdict(list)
    for one in said:
        found[one.case.kind, one.case.locale].append(one)
    return found


def _share(said: Sequence[Said]) -> float:
    return 100 * sum(one.verdict is Verdict.RIGHT for one in said) / len(said)


def _print_row(cells: Sequence[str]) -> None:
    print(f"| {' | '.join(cells)} |")
