"""Starts the built image in QEMU, acts as somebody who has bought one, and prints a table."""

import argparse
import contextlib
import importlib
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from image.lib.build import CACHE
from image.lib.emulated.bench import USUAL_SEED, Bench
from image.lib.emulated.faults import GuestFailed
from image.lib.emulated.guest import missing_programs
from image.lib.trials import ORDER
from image.lib.trials.expectation import Missed, NotTried
from scripts.lib.progress import say

_WIDTH = 14
_OK, _BAD, _NOT_TRIED = "ok", "BAD", "--"
_FIRST = "first_start"


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table."""

    name: str
    took_s: float
    verdict: str
    said: str


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    if given.list:
        for name in ORDER:
            print(f"{_shown(name):{_WIDTH}} {_summary(name)}")
        return 0
    wanted = in_order(_wanted(given.only), given.seed)
    if unknown := [name for name in wanted if name not in ORDER]:
        say(f"there is no {unknown[0]}: image/test --list names them")
        return 2
    if missing := missing_programs():
        say(f"packages are missing: apt-get install {' '.join(missing)}")
        return 2
    if not given.image.exists():
        say(f"there is no {given.image}: image/build makes it")
        return 2
    amounts = {"power_cut": given.power_cuts, "cut_points": given.cut_points}
    amounts["idle_writes"] = given.idle_minutes
    results = _try_all(given, wanted, amounts)
    if given.seed is not None:
        print(f"seed {given.seed}")
    for result in results:
        name = _shown(result.name)
        print(f"{result.verdict:3} {name:{_WIDTH}} {result.took_s:5.0f} s  {result.said}")
    return 1 if any(result.verdict == _BAD for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="image/test", description=__doc__)
    cache = Path(os.environ.get("BARNACLE_IMAGE_CACHE", CACHE))
    parser.add_argument("image", type=Path, nargs="?", default=cache / "barnacle.img")
    parser.add_argument("--list", action="store_true", help="say what is tried, and end")
    parser.add_argument("--only", action="append", metavar="NAME", help="this one; may be repeated")
    parser.add_argument("--sign-key", type=Path, help="the one of image/build, to try updates with")
    parser.add_argument(
        "--older", type=Path, metavar="IMAGE", help="of an earlier version, signed by the same key"
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="shuffle the trials, and choose the moments of the power cuts; the same number does "
        "the same again (default: the order of --list, the usual moments)",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        help="a folder for the card and the console's log; what goes with a BAD trial is kept in "
        "any case, in `bad` beside the image",
    )
    parser.add_argument(
        "--power-cuts", type=int, default=0, metavar="N", help="real ones, a start each (usually 3)"
    )
    parser.add_argument(
        "--cut-points", type=int, default=0, metavar="N", help="without a start (usually 300)"
    )
    parser.add_argument("--idle-minutes", type=int, default=0, metavar="N", help="usually 6")
    return parser


def _wanted(only: Sequence[str] | None) -> list[str]:
    return [name.replace("-", "_") for name in only] if only else list(ORDER)


def in_order(wanted: Sequence[str], seed: int | None) -> list[str]:
    """Shuffled by the seed, if there is one; a new card is started first, or it is none."""
    rest = [name for name in wanted if name != _FIRST]
    if seed is not None:
        random.Random(seed).shuffle(rest)  # noqa: S311 - an order, and no secret
    return [*(name for name in wanted if name == _FIRST), *rest]


def _shown(name: str) -> str:
    return name.replace("_", "-")


def _summary(name: str) -> str:
    text = importlib.import_module(f"image.lib.trials.{name}").__doc__ or ""
    return text.partition("\n")[0]


def _try_all(given: argparse.Namespace, wanted: list[str], amounts: dict[str, int]) -> list[Result]:
    results = []
    seed = USUAL_SEED if given.seed is None else given.seed
    say(f"seed {seed}: {' '.join(map(_shown, wanted))}")
    with Bench(given.image, given.keep, given.sign_key, seed, given.older) as bench:
        for name in wanted:
            say(f"{_shown(name)}: {_summary(name)}")
            try:
                result = _try(bench, name, amounts.get(name, 0))
            except KeyboardInterrupt:
                left = wanted[len(results) :]
                results += [Result(one, 0, _NOT_TRIED, "interrupted") for one in left]
                break
            say(f"{_shown(name)}: {result.verdict}, {result.said}")
            results.append(result)
    return results


def _try(bench: Bench, name: str, amount: int) -> Result:
    trial = importlib.import_module(f"image.lib.trials.{name}")
    begun_s = time.monotonic()
    try:
        said, verdict = trial.run(bench, amount), _OK
    except NotTried as reason:
        said, verdict = str(reason), _NOT_TRIED
    except (Missed, GuestFailed, OSError) as failure:
        said, verdict = str(failure), _BAD
        _keep_journal(bench, name)
        # The next trial begins with a start of its own
        bench.stop()
        place = bench.evidence.keep(name, bench.card)
        say(f"the card, what was written to it and what was said: {place}")
        said = f"{said} (evidence: {place})"
    finally:
        bench.evidence.forget()
    return Result(name, time.monotonic() - begun_s, verdict, said)


def _keep_journal(bench: Bench, name: str) -> None:
    """Keep the guest's own journal, for whoever looks for the cause."""
    with contextlib.suppress(GuestFailed, OSError):
        look = "systemctl --failed --no-legend; systemctl list-jobs --no-legend; sync"
        said = bench.shell.run(
            f"{look}; journalctl -b -o short-monotonic --no-hostname | tail -n 1500"
        )
        (bench.work / f"{name}.journal").write_text(said)
