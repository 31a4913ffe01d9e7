"""Weakens the guards line by line and counts what the tests catch.

Each weakening is one changed line of agent/security or of the decisions of the gate, in a copy of
the tree. The tests that run the line run again, and one has to fail. The choice is the same for the
same --seed. Survivors that change nothing are listed in scripts/lib/mutate/judged.toml with the
reason; they count as not caught all the same.
"""

import argparse
import random
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from scripts.lib.mutate.coverage_map import CoverageMap, measured
from scripts.lib.mutate.tree import Tree, copied
from scripts.lib.mutate.trial import Verdict, module_of, tried
from scripts.lib.mutate.weakenings import Weakening, weakenings
from scripts.lib.places import ROOT

LEAST_SHARE = 0.95
COUNT = 240
_GATE = (
    *("access/pairing", "access/people", "access/roles", "app/reload", "approvals/button"),
    *("approvals/gate", "approvals/questions", "approvals/records"),
)
_TESTS = (
    *("tests/security", "tests/contracts/test_sandbox.py", "tests/tools/test_file_edit.py"),
    *("tests/tools/test_git.py", "tests/tools/test_shell.py", "tests/system/test_one_gate.py"),
    *("tests/faults/test_f28_path_traversal.py", "tests/faults/test_f30_shell_injection.py"),
    *("tests/faults/test_f31_environment.py", "tests/faults/test_f32_ssrf.py"),
    *("tests/faults/test_f35_approval_tampered.py", "tests/faults/test_f36_secrets.py"),
    *(f"tests/{name.replace('/', '/test_')}.py" for name in _GATE),
    "tests/app/test_reload_tightening.py",
    *("tests/access/test_owner.py", "tests/access/test_admission.py", "tests/turn/test_turn.py"),
)
_JUDGED = Path(__file__).parent / "judged.toml"


def main(arguments: Sequence[str]) -> int:
    """Weaken, print, and say by the exit status whether the bar is held."""
    given = _parser().parse_args(arguments)
    chosen = _chosen(given.seed, given.count, given.only)
    if given.again:
        survived = set(given.again.read_text().splitlines())
        chosen = [one for one in chosen if _told(one) in survived]
    if given.list:
        for one in chosen:
            print(f"{one.path}:{one.line}: {one.kind}: {one.before}  ->  {one.after}")
        return 0
    begun_s = time.monotonic()
    verdicts = _verdicts(chosen, given.tests, given.jobs)
    _show(verdicts)
    caught = sum(one.is_caught for one in verdicts)
    share = caught / len(verdicts)
    print(
        f"\n{caught} of {len(verdicts)} weakenings caught: {share:.1%} (bar {LEAST_SHARE:.0%}; "
        f"seed {given.seed}, {time.monotonic() - begun_s:.0f} s)"
    )
    return 0 if share >= LEAST_SHARE else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which weakenings; default 1")
    parser.add_argument("--count", type=int, default=COUNT, help=f"how many; default {COUNT}")
    parser.add_argument("--jobs", type=int, default=1, help="copies that are at work at once")
    parser.add_argument(
        "--only", default="", help="of these only those in files whose path holds this text"
    )
    parser.add_argument("--tests", nargs="+", default=_TESTS, help="instead of all that guard")
    parser.add_argument("--again", type=Path, help="only what an earlier output says survived")
    parser.add_argument("--list", action="store_true", help="list them and run nothing")
    return parser


def _chosen(seed: int, count: int, only: str) -> list[Weakening]:
    """The same for the same seed and tree; of these only those of some files."""
    every = [one for path in _paths() for one in weakenings(path, (ROOT / path).read_text())]
    chance = random.Random(seed)  # noqa: S311 - a choice, not a secret
    sampled = chance.sample(every, min(count, len(every)))
    picked = [one for one in sampled if only in str(one.path)]
    return sorted(picked, key=lambda one: (str(one.path), one.line, one.kind, one.after))


def _paths() -> list[Path]:
    found = sorted((ROOT / "agent/security").rglob("*.py"))
    found += [ROOT / f"agent/{name}.py" for name in _GATE]
    return [path.relative_to(ROOT) for path in found]


def _verdicts(chosen: Sequence[Weakening], named: Sequence[str], jobs: int) -> list[Verdict]:
    with ExitStack() as stack:
        trees = [stack.enter_context(copied()) for _ in range(jobs)]
        tests = [test for test in named if (ROOT / test).exists()]
        covering = measured(trees[0], sorted({str(one.path) for one in chosen}), tests)
        print(f"{len(covering.size)} tests run the guards; {len(chosen)} weakenings", flush=True)
        free: SimpleQueue[Tree] = SimpleQueue()
        for tree in trees:
            free.put(tree)
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        return list(pool.map(lambda one: _in_turn(free, one, covering), chosen))


def _in_turn(free: "SimpleQueue[Tree]", weakening: Weakening, covering: CoverageMap) -> Verdict:
    tree = free.get()
    try:
        verdict = tried(tree, weakening, covering)
    finally:
        free.put(tree)
    if not verdict.is_caught:
        print(_told(weakening), flush=True)
    return verdict


def _told(weakening: Weakening) -> str:
    return f"survived: {weakening.path}:{weakening.line}: {weakening.kind}"


def _show(verdicts: Sequence[Verdict]) -> None:
    total, caught = Counter[str](), Counter[str]()
    for one in verdicts:
        name = module_of(one.weakening.path)
        total[name] += 1
        caught[name] += one.is_caught
    width = max(map(len, total))
    print(f"\n| {'file'.ljust(width)} | weakenings | caught |")
    print(f"|{'-' * (width + 2)}|------------|--------|")
    for name in sorted(total):
        print(f"| {name.ljust(width)} | {total[name]:10} | {caught[name]:6} |")
    for line in _survivors(verdicts):
        print(line)


def _survivors(verdicts: Sequence[Verdict]) -> Iterator[str]:
    judged = tomllib.loads(_JUDGED.read_text())
    for one in verdicts:
        if one.is_caught:
            continue
        weakening = one.weakening
        yield f"\n{weakening.path}:{weakening.line}: {weakening.kind} ({one.tests} tests run it)"
        yield f"- {weakening.before}"
        yield f"+ {weakening.after}"
        yield f"  judged: {judged.get(weakening.key, 'not yet')}"
