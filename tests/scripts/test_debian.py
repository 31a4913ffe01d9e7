"""Which of a machine's archives offer Debian itself, in both formats apt reads."""

from pathlib import Path

import pytest

from scripts.lib import debian
from scripts.lib.debian import Archive, ArchiveUnusable, archives

KEYS = "/usr/share/keyrings/some.gpg"


def sources(folder: Path, **files: str) -> Path:
    (folder / "sources.list.d").mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.write_text(text)
    return folder


def test_the_one_line_format(tmp_path: Path) -> None:
    text = f"""\
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by={KEYS}] http://mirror.example/debian bookworm main contrib # ours
deb http://mirror.example/debian-security bookworm-security main
deb http://mirror.example/debian bookworm-updates main
deb-src http://sources.example/debian bookworm main
deb cdrom:[Debian]/ bookworm main
"""
    found = archives(sources(tmp_path, sources_list=text))
    assert found == [Archive("http://mirror.example/debian", KEYS)]


def test_the_stanza_format(tmp_path: Path) -> None:
    text = f"""\
# A comment
Types: deb deb-src
URIs: mirror+file:///etc/apt/mirrors/debian.list
 http://second.example/debian
Suites: trixie trixie-updates
Components: main non-free-firmware
Signed-By: {KEYS}

Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main
Enabled: no

Types: deb
URIs: http://embedded.example/debian
Suites: stable
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBGPL
"""
    assert archives(sources(tmp_path, sources_list_d__debian_sources=text)) == [
        Archive("mirror+file:///etc/apt/mirrors/debian.list", KEYS),
        Archive("http://second.example/debian", KEYS),
        Archive("http://embedded.example/debian"),
    ]


def test_other_peoples_archives_are_left_alone(tmp_path: Path) -> None:
    found = sources(
        tmp_path,
        sources_list_d__nodes_list="deb http://nodes.example/repo nodistro main\n",
        sources_list_d__boxes_list="deb http://boxes.example/linux/debian bookworm stable\n",
        sources_list_d__old_list_save="deb http://old.example/debian bookworm main\n",
    )
    assert archives(found) == []


def test_nonsense_is_no_archive(tmp_path: Path) -> None:
    nonsense = "deb\ndeb [\n\x00\xff: deb http://\nTypes\n: :\n\n"
    found = sources(
        tmp_path,
        sources_list=nonsense,
        sources_list_d__a_list=nonsense,
        sources_list_d__b_sources=nonsense,
    )
    assert archives(found) == []


def test_a_machine_without_apt_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ArchiveUnusable, match="no apt-get"):
        debian.unpack("micropython", "trixie", tmp_path / "root", tmp_path / "work")
