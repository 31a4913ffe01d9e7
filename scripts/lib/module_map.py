"""Map of the house: every module by its folder, kept in CONTRIBUTING.md."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.lib.places import ROOT

PAGE = "CONTRIBUTING.md"
_BEGIN, _END = "<!-- scripts/map writes this table -->", "<!-- end of the table -->"
_FOLDERS = ("agent", "firmware", "image", "scripts", "tests/fakes", "tests/structure")
# Made by tools, not written by anybody
_MADE = frozenset({"__pycache__", "dist", "build", "node_modules"})


def main(arguments: Sequence[str]) -> int:
    """Write the map."""
    argparse.ArgumentParser(
        prog="map", description=f"Writes the list of all modules into {PAGE}; a test compares."
    ).parse_args(arguments)
    page = ROOT / PAGE
    page.write_text(with_map(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def with_map(page: str, root: Path = ROOT) -> str:
    """Return the page with the map of the tree at `root` between its marks."""
    head, _, rest = page.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    table = "\n".join(["| folder | modules |", "|---|---|", *_rows(root)])
    return f"{head}{_BEGIN}\n{table}\n{_END}{tail}"


def _rows(root: Path) -> Iterator[str]:
    found: dict[Path, list[str]] = {}
    for top in _FOLDERS:
        for module in sorted((root / top).rglob("*.py")):
            place = module.relative_to(root)
            if not _MADE.intersection(place.parts) and not module.name.startswith("__"):
                found.setdefault(place.parent, []).append(place.stem)
    for folder, names in sorted(found.items()):
        yield f"| `{folder}/` | {', '.join(names)} |"
