"""The file systems and the image: files all the way, no loop devices, the same bytes each time."""

import gzip
import os
import shutil
from pathlib import Path

from agent.provision.firmware import RESERVE, reserve_content
from image.lib import layout, models, trees
from image.lib.ramdisk import with_data_partition
from scripts.lib.progress import Progress

_BOOT_FILES = ("bootcode.bin", "*.elf", "fixup*.dat", "overlays", "LICENCE*")
# Where image/build leaves the kernel's own trees
TREES = "trees"
# What a person edits before the first start
SETTINGS = Path(__file__).parents[1] / "barnacle.toml"
_REMEDY = "Is the disk not full?"


class Maker:
    """Makes the parts of one image; `epoch` is the only time that gets into them."""

    def __init__(self, work: Path, epoch: int, progress: Progress) -> None:
        self._work = work
        self._epoch = epoch
        self._progress = progress

    def squashfs(self, root: Path) -> Path:
        """The read-only system, for either slot."""
        made = self._work / "system.squashfs"
        made.unlink(missing_ok=True)
        command: list[str | Path] = ["mksquashfs", root, made, "-noappend", "-no-progress"]
        command += ["-comp", "zstd", "-Xcompression-level", "15", "-b", "256K"]
        # Hard-linked to the times of the recipe, not of the machine
        command += ["-mkfs-time", str(self._epoch), "-all-time", str(self._epoch)]
        self._run("compress the system", command)
        if made.stat().st_size > layout.SYSTEM_A.size_bytes - layout.RESERVED_MIB * layout.MIB:
            raise OSError(f"the system is too large for its slot: {made.stat().st_size} bytes")
        return made

    def firmware(self, boot: Path) -> Path:
        """The partition that the Pi starts from, made from the base's /boot."""
        tree = self._tree(boot)
        made = self._work / "firmware.vfat"
        made.unlink(missing_ok=True)
        with made.open("wb") as file:
            file.truncate(layout.FIRMWARE.size_bytes)
        serial = f"{layout.FAT_ID:08x}"
        self._run(
            "format the firmware partition",
            ["mkfs.vfat", "-F", "32", "-n", "BARNACLE", "-i", serial, "--invariant", made],
        )
        entries = sorted(tree.iterdir())
        self._run(
            "fill the firmware partition", ["mcopy", "-s", "-p", "-m", "-i", made, *entries, "::/"]
        )
        return made

    def data(self) -> Path:
        """An empty file system: folders are made when they are first mounted."""
        made = self._work / "data.ext4"
        made.unlink(missing_ok=True)
        uuid = layout.DATA_UUID
        extended = f"hash_seed={uuid},lazy_itable_init=0,lazy_journal_init=0"
        command: list[str | Path] = ["mke2fs", "-q", "-t", "ext4", "-L", "data", "-U", uuid]
        command += ["-E", extended, "-m", "1", made, f"{layout.DATA.size_mib}M"]
        self._run("format the data partition", command)
        return made

    def image(self, parts: dict[layout.Partition, Path], target: Path) -> None:
        """The whole card, holes where nothing is."""
        fresh = target.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        with fresh.open("wb") as file:
            file.truncate(layout.IMAGE_BYTES)
        table = self._work / "table"
        table.write_text(layout.sfdisk_script())
        self._run(
            "write the partition table",
            [
                "sh",
                "-c",
                'exec sfdisk -q --no-reread --no-tell-kernel "$1" <"$2"',
                "sh",
                fresh,
                table,
            ],
        )
        for partition, part in parts.items():
            command = ["dd", f"if={part}", f"of={fresh}", "bs=1M", f"seek={partition.start_mib}"]
            self._run(f"write {partition.name}", [*command, "conv=notrunc,sparse", "status=none"])
        fresh.replace(target)

    def _tree(self, boot: Path) -> Path:
        """The files of the firmware partition; slot B is filled by the first update."""
        tree = self._work / "firmware"
        shutil.rmtree(tree, ignore_errors=True)
        slot = tree / "A"
        slot.mkdir(parents=True)
        (tree / "B").mkdir()
        [kernel] = boot.glob("vmlinuz-*")
        [initrd] = boot.glob("initrd.img-*")
        # The boot loader unpacks it, and reads half as much from the card
        (slot / "vmlinuz").write_bytes(gzip.compress(kernel.read_bytes(), mtime=0))
        (slot / "initrd.img").write_bytes(with_data_partition(initrd.read_bytes()))
        (slot / "cmdline.txt").write_text(layout.command_line("A") + "\n")
        (tree / "config.txt").write_text(layout.config_txt("A"))
        # Line ends that every PC's editor knows
        (tree / SETTINGS.name).write_text(SETTINGS.read_text(), newline="\r\n")
        (tree / RESERVE).write_bytes(reserve_content())
        for pattern in _BOOT_FILES:
            for path in sorted((boot / "firmware").glob(pattern)):
                copy = shutil.copytree if path.is_dir() else shutil.copyfile
                copy(path, tree / path.name)
        for model in models.MODELS:
            name = f"{model.tree}.dtb"
            trees.extend(boot / TREES / name, slot / name, self._work)
        (tree / "overlays").mkdir(exist_ok=True)
        trees.write_stepping(slot, tree / "overlays" / trees.STEPPING_OVERLAY, self._work)
        for path in (tree, *tree.rglob("*")):
            os.utime(path, (self._epoch, self._epoch))
        return tree

    def _run(self, title: str, command: list[str | Path]) -> None:
        times = {"SOURCE_DATE_EPOCH": str(self._epoch), "E2FSPROGS_FAKE_TIME": str(self._epoch)}
        if command[0] == "mksquashfs":
            # It refuses both the variable and the options
            times.clear()
        environment = {"PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", "TZ": "UTC", **times}
        self._progress.run(title, command, environment=environment, remedy=_REMEDY)
