"""Debian packages unpacked into a folder of our own, as anybody, from the machine's own mirror.

Nothing of the system is read but its list of archives and its keys, nothing is written but the
folder. apt checks the signatures; no package's scripts are run.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SOURCES = Path("/etc/apt")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Names under which an archive offers Debian itself, not its security or backports additions
_SUITES = frozenset(
    {"oldoldstable", "oldstable", "stable", "testing", "unstable", "sid"}
    | {"bullseye", "bookworm", "trixie", "forky", "duke"}
)
# A mirror that does not answer is given up after this, and the next one is asked
_UPDATE_TIMEOUT_S = 300
_DOWNLOAD_TIMEOUT_S = 900
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^]]*)\]\s*)?(?P<uri>\S+)\s+(?P<rest>.+)")

# Hooks of the machine's own apt have no business with a private download
_APT_CONF = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::Etc::sourcelist "{work}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{work}/state";
Dir::State::status "{work}/state/status";
Dir::Cache "{work}/cache";
Dir::Log "{work}/log";
APT::Sandbox::User "root";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
"""


class ArchiveUnusable(Exception):
    """No archive of this machine gave the package; the text says what was tried."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A place that offers Debian, and the keys that sign it (empty: the system's own)."""

    uri: str
    signed_by: str = ""


def archives(sources: Path = _SOURCES) -> list[Archive]:
    """The Debian archives this machine is configured for, each once, in its order."""
    found: list[Archive] = []
    for file in [sources / "sources.list", *sorted((sources / "sources.list.d").glob("*"))]:
        if not file.is_file():
            continue
        text = file.read_text(errors="replace")
        if file.suffix == ".list":
            found.extend(_one_line(text))
        elif file.suffix == ".sources":
            found.extend(_deb822(text))
    return list(dict.fromkeys(found))


def _one_line(text: str) -> Iterator[Archive]:
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#")[0].strip())
        if match is None:
            continue
        options = dict(
            option.split("=", 1) for option in (match["options"] or "").split() if "=" in option
        )
        suite, *components = match["rest"].split()
        if _is_debian(match["uri"], [suite], components):
            yield Archive(match["uri"], options.get("signed-by", ""))


def _deb822(text: str) -> Iterator[Archive]:
    without_comments = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", without_comments):
        fields = {
            name.strip().lower(): value
            for name, value in re.findall(r"^([\w-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE)
        }
        if fields.get("enabled", "yes").strip().lower() in {"no", "false"}:
            continue
        if "deb" not in fields.get("types", "").split():
            continue
        signed_by = fields.get("signed-by", "").strip()
        for uri in fields.get("uris", "").split():
            suites, components = (fields.get(name, "").split() for name in ("suites", "components"))
            if _is_debian(uri, suites, components):
                # A key written out in the stanza itself is not a path to hand on
                yield Archive(uri, signed_by if signed_by.startswith("/") else "")


def _is_debian(uri: str, suites: Sequence[str], components: Sequence[str]) -> bool:
    return "main" in components and not uri.startswith("cdrom:") and not _SUITES.isdisjoint(suites)


def unpack(package: str, suite: str, target: Path, work: Path, architecture: str = "") -> None:
    """Unpack `package` of `suite` with all it depends on into `target`; `work` is used up.

    `suite` may be a release and its backports, with a space between: the package is then of the
    second one, and what it depends on of either.

    `architecture` is Debian's name of one; empty means the machine's own.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise ArchiveUnusable("this machine has no apt-get")
    candidates = archives()
    if not candidates:
        raise ArchiveUnusable("no Debian archive is configured in /etc/apt")
    failures = []
    for archive in candidates:
        shutil.rmtree(work, ignore_errors=True)
        try:
            _download(package, suite, archive, work, architecture or own_architecture())
        except subprocess.SubprocessError as failure:
            failures.append(f"{archive.uri} {suite}: {_sentence(failure)}")
            continue
        for deb in sorted((work / "cache/archives").glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", deb, target], check=True)
        shutil.rmtree(work)
        return
    raise ArchiveUnusable("; ".join(failures))


def own_architecture() -> str:
    """Return Debian's name of this machine's architecture."""
    return subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()


def _download(package: str, suite: str, archive: Archive, work: Path, architecture: str) -> None:
    for folder in ("state/lists/partial", "cache/archives/partial", "log"):
        (work / folder).mkdir(parents=True)
    # Nothing is installed: every dependency comes along, the C library too
    (work / "state/status").touch()
    keyring = archive.signed_by or (str(_KEYRING) if _KEYRING.exists() else "")
    options = " ".join(
        ["target=Packages", f"arch={architecture}", *([f"signed-by={keyring}"] if keyring else [])]
    )
    suites = suite.split()
    lines = (f"deb [{options}] {archive.uri} {one} main\n" for one in suites)
    (work / "sources.list").write_text("".join(lines))
    conf = work / "apt.conf"
    conf.write_text(_APT_CONF.format(work=work, architecture=architecture))
    apt: list[str | Path] = ["apt-get", "-q", "-y", "-c", conf]
    subprocess.run([*apt, "update"], check=True, timeout=_UPDATE_TIMEOUT_S)
    wanted = package if len(suites) == 1 else f"{package}/{suites[-1]}"
    subprocess.run(
        [*apt, "install", "--download-only", wanted], check=True, timeout=_DOWNLOAD_TIMEOUT_S
    )


def _sentence(failure: subprocess.SubprocessError) -> str:
    if isinstance(failure, subprocess.CalledProcessError):
        return f"{failure.cmd[0]} ended with status {failure.returncode}"
    return "no answer in time"
