"""Device trees: read, extended by what image/trees says, and compared.

The Pi's boot loader hands the kernel the tree of its model; a blob is read here without a library.
"""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "trees"
# Both steppings of the Pi 5: the boot loader loads the first, and adds an overlay of this name
PI_5, PI_5_D0 = "bcm2712-rpi-5-b", "bcm2712-d-rpi-5-b"
STEPPING_OVERLAY = "bcm2712d0.dtbo"
_MAGIC = 0xD00DFEED
_BEGIN_NODE, _END_NODE, _PROPERTY, _NOTHING, _END = 1, 2, 3, 4, 9
_WORD = 4

# Properties of each node by its path; the root's path is "/"
Tree = dict[str, dict[str, bytes]]


class TreeRefused(Exception):
    """It is no device tree, or one that cannot be extended."""


def read(blob: bytes) -> Tree:
    """Return the nodes of a flattened tree.

    Raises:
        TreeRefused: it is none.
    """
    if len(blob) < 10 * _WORD or _number(blob, 0) != _MAGIC:
        raise TreeRefused("it is no device tree")
    at, names = _number(blob, 2 * _WORD), _number(blob, 3 * _WORD)
    tree: Tree = {}
    path: list[str] = []
    while (token := _number(blob, at)) != _END:
        at += _WORD
        if token == _BEGIN_NODE:
            name = _text(blob, at)
            path.append(name)
            tree["/" + "/".join(path[1:])] = {}
            at += _padded(len(name) + 1)
        elif token == _END_NODE:
            path.pop()
        elif token == _PROPERTY:
            size, name_at = _number(blob, at), _number(blob, at + _WORD)
            at += 2 * _WORD
            tree["/" + "/".join(path[1:])][_text(blob, names + name_at)] = blob[at : at + size]
            at += _padded(size)
        elif token != _NOTHING:
            raise TreeRefused(f"it breaks off at byte {at}")
    return tree


def texts(node: Mapping[str, bytes], name: str) -> list[str]:
    """Return the texts of a property; none where it is not there."""
    return node.get(name, b"").decode(errors="replace").rstrip("\0").split("\0")


def is_on(tree: Tree, path: str) -> bool:
    """Return true if neither the node nor what it is in is switched off."""
    parts = path.strip("/").split("/")
    ways = ["/" + "/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    return all(texts(tree[way], "status")[0] in {"", "ok", "okay"} for way in ways)


def extend(source: Path, target: Path, work: Path) -> None:
    """Write the tree of a model with what its chip's file in image/trees adds."""
    family = "bcm2712" if source.name.startswith("bcm2712") else "bcm283x"
    overlay = _compiled((FOLDER / f"{family}.dtso").read_text(), work / f"{family}.dtbo")
    apply(source, overlay, target)


def apply(source: Path, overlay: Path, target: Path) -> None:
    """Lay an overlay over a tree."""
    _run(["fdtoverlay", "-i", source, "-o", target, overlay])


def write_stepping(trees: Path, target: Path, work: Path) -> None:
    """Write the overlay that makes the tree of the Pi 5's first stepping that of its second.

    Without it, the boot loader starts the kernel on the newer chip with the older chip's tree,
    and the kernel stops at once.
    """
    older, newer = (read((trees / f"{name}.dtb").read_bytes()) for name in (PI_5, PI_5_D0))
    overlay = _compiled(difference(older, newer), work / STEPPING_OVERLAY)
    target.write_bytes(overlay.read_bytes())


def difference(older: Tree, newer: Tree) -> str:
    """Return the source of an overlay from one tree to the other.

    Raises:
        TreeRefused: nodes or properties have gone: an overlay only adds and changes.
    """
    if older.keys() != newer.keys():
        raise TreeRefused(f"nodes differ: {sorted(older.keys() ^ newer.keys())}")
    fragments = []
    for path, node in newer.items():
        if gone := older[path].keys() - node.keys():
            raise TreeRefused(f"{path} has lost {sorted(gone)}")
        changed = {name: value for name, value in node.items() if older[path].get(name) != value}
        if changed:
            fragments.append(_fragment(len(fragments), path, changed))
    return "/dts-v1/;\n/plugin/;\n/ {\n" + "".join(fragments) + "};\n"


def _fragment(number: int, path: str, changed: Mapping[str, bytes]) -> str:
    lines = "".join(f"{name} = [{value.hex(' ')}];\n" for name, value in changed.items())
    target = f'target-path = "{path}";\n__overlay__ {{\n{lines}}};\n'
    return f"fragment@{number} {{\n{target}}};\n"


def _compiled(source: str, target: Path) -> Path:
    written = target.with_suffix(".dtso")
    written.write_text(source)
    # It counts the cells of nodes that it does not see
    _run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", target, written])
    return target


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TreeRefused(f"{command[0]}: {done.stderr.strip()}")


def aliases(tree: Tree) -> Iterator[tuple[str, str]]:
    """Return each short name of a node, and the node's path."""
    for name in tree.get("/aliases", {}):
        yield name, texts(tree["/aliases"], name)[0]


def _number(blob: bytes, at: int) -> int:
    return int.from_bytes(blob[at : at + _WORD], "big")


def _text(blob: bytes, at: int) -> str:
    return blob[at : blob.index(b"\0", at)].decode()


def _padded(size: int) -> int:
    return size + -size % _WORD
