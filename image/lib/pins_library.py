"""lgpio, which moves the Pi's own pins: published without a wheel for the image's Python.

Its source is fetched by the lock's hash and compiled here for the Pi, as its own setup does for a
wheel: with everything of it inside. Nothing of it runs on this machine.
"""

import os
import shutil
import tarfile
from pathlib import Path

from image.lib import recipe
from scripts.lib import locks
from scripts.lib.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
NAME = "lgpio"
_COMPILER = "aarch64-linux-gnu-gcc"
_REMEDY = "Is the network there? The log says more."


class PinsLibrary:
    """Made in `work`; the headers of the image's Python come from the archive of its base.

    Args:
        python: version of the image's Python.
        fetching: a Python of this machine with pip.
    """

    def __init__(self, work: Path, python: str, fetching: Path, progress: Progress) -> None:
        self._work = work / NAME
        self._python = python
        self._fetching = fetching
        self._progress = progress

    def install(self, packages: Path, archive: str) -> None:
        """Put it among the packages of the system."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)
        headers = self._headers(archive)
        source = self._source()
        library = packages / f"_lgpio.cpython-{self._python.replace('.', '')}-aarch64-linux-gnu.so"
        self._run(
            "wrap lgpio", ["swig", "-python", f"-I{source}", "-outdir", source, source / "lgpio.i"]
        )
        units = [
            source / "lgpio_wrap.c",
            *sorted(source.glob("src/lg*.c")),
            source / "src/rgpiod.c",
        ]
        includes = [f"-I{source / 'src'}", f"-I{headers}"]
        includes.append(f"-I{headers / f'python{self._python}'}")
        # No path of this machine in what is made
        options = [
            "-shared",
            "-fPIC",
            "-O2",
            "-pthread",
            f"-ffile-prefix-map={self._work.parent}=.",
            "-s",
        ]
        self._run(
            "compile lgpio",
            [_COMPILER, *options, *includes, *units, "-o", library, "-lrt", "-ldl"],
        )
        shutil.copyfile(source / "lgpio.py", packages / "lgpio.py")

    def _headers(self, archive: str) -> Path:
        """Those of the image's own Python, fetched once; not its C library's, which is not ours."""
        kept = self._work.with_name(f"headers-{self._python}")
        if not kept.exists():
            unpacked = self._work / "unpacked"
            package = f"libpython{self._python}-dev"
            command = recipe.extraction(package, unpacked, archive)
            self._run("fetch the headers of Python", command)
            fresh = self._work / "headers"
            for folder in (f"python{self._python}", f"aarch64-linux-gnu/python{self._python}"):
                shutil.copytree(unpacked / "usr/include" / folder, fresh / folder)
            fresh.replace(kept)
        return kept

    def _source(self) -> Path:
        lock = self._work / "lgpio.lock"
        lock.write_text(
            "".join(
                locks.only((ROOT / "scripts" / name).read_text(), {NAME})
                for name in ("requirements.lock", "requirements-extras.lock")
            ).replace("platform_machine == 'aarch64'", "python_version > '3'")
        )
        fetch = [self._fetching, "-m", "pip", "download", "-q", "--no-deps", "--no-binary"]
        fetch += [":all:", "--require-hashes", "--dest", self._work]
        self._run("fetch the source of lgpio", [*fetch, "-r", lock])
        [packed] = self._work.glob("lgpio-*.tar.gz")
        with tarfile.open(packed) as tar:
            tar.extractall(self._work, filter="data")
        return self._work / packed.name.removesuffix(".tar.gz")

    def _run(self, title: str, command: list[str | Path]) -> None:
        self._progress.run(title, command, environment=os.environ, remedy=_REMEDY)
