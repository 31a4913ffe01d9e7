"""Checks of `scripts/install` in a running Debian, in their order."""

import re

from scripts.lib import places
from scripts.lib.container import Container

_BROKEN = "raise SystemExit('broken on purpose')\n"
_MOST_EXPOSED = 2.0
# systemd that takes every credential of a pattern, encrypted ones too
_KNOWS_PATTERNS = 254
# Backups and locks of those who keep users
_LEFT = re.compile(r"^/etc/\.pwd\.lock$|^/etc/[^/]+-$")


class Unmet(Exception):
    """Something is not as it should be; the text says what, and what was seen."""


class Checks:
    """Checks of `scripts/install` in a running system."""

    def __init__(self, system: Container) -> None:
        self._system = system
        self._source = system.root / "src"
        self._before = self._files()

    def says_what_it_would_do(self) -> None:
        told = self._install("--dry-run")
        _expect(told.count("would ") >= len(("make", "put", "use", "start")), told)
        _expect(self._files() == self._before, "a dry run changed something")

    def installs(self) -> None:
        _expect("is installed" in self._install(), "no last line")
        _expect(self._show("ActiveState") == "active", self._show("StatusText"))
        enabled = self._system.say("systemctl", "is-enabled", *places.ENABLED)
        _expect(enabled.split() == ["enabled"] * len(places.ENABLED), enabled)
        failed = self._system.say("systemctl", "--failed", "--no-legend")
        _expect("barnacle" not in failed, failed)
        images = self._system.root.glob("opt/barnacle/lib/python3*/site-packages/agent/firmware/*")
        _expect(len(list(images)) > 1, "no firmware for boards")

    def answers(self) -> None:
        self._say("remember that my sister is called Mei")
        self._expect_memory()

    def names_tools_in_the_journal(self) -> None:
        query = ("-u", places.ENABLED[0], "BARNACLE_TOOL=memory_store", "-o", "cat")
        told = self._system.say("journalctl", "--sync", "-q") + self._system.say(
            "journalctl", *query
        )
        _expect("memory_store: done" in told, told or "no record of the tool")

    def changes_nothing_the_second_time(self) -> None:
        before = self._show("MainPID"), self._files()
        _expect("nothing changed" in self._install(), "it changed something")
        _expect((self._show("MainPID"), self._files()) == before, "it changed something")

    def protects_the_service(self) -> None:
        told = self._system.say("systemd-analyze", "security", places.ENABLED[0])
        [score] = re.findall(r"Overall exposure level .*: ([0-9.]+)", told)
        _expect(float(score) <= _MOST_EXPOSED, score)

    def hands_over_secrets_and_starts_without(self) -> None:
        _expect(not self._handed_over(), f"{self._handed_over()}")
        plain, sealed = (self._system.root / place for place in places.SECRETS)
        (plain / "barnacle.discord_token").write_text("hidden\n")
        names = {"barnacle.discord_token"}
        if int(self._system.say("systemctl", "--version").split()[1]) >= _KNOWS_PATTERNS:
            sealed.mkdir(mode=0o700, exist_ok=True)
            name = "barnacle.of_a_platform_yet_to_come"
            words = (
                "encrypt",
                "--with-key=host",
                f"--name={name}",
                "-",
                f"/{places.SECRETS[1]}/{name}",
            )
            done = self._system.do("systemd-creds", *words, said="hidden")
            _expect(done.returncode == 0, done.stderr)
            names.add(name)
        self._system.do("systemctl", "restart", places.ENABLED[0])
        _expect(self._show("ActiveState") == "active", self._show("StatusText"))
        _expect(self._handed_over() == names, f"{self._handed_over()}")
        for name in names:
            (plain / name).unlink(missing_ok=True)
            (sealed / name).unlink(missing_ok=True)
        self._system.do("systemctl", "restart", places.ENABLED[0])
        _expect(self._show("ActiveState") == "active", self._show("StatusText"))

    def keeps_the_old_one_when_a_package_is_not_the_locked_one(self) -> None:
        lock = self._source / "scripts/requirements.lock"
        text = lock.read_text()
        before = self._show("MainPID")
        lock.write_text(re.sub("sha256:.{8}", "sha256:00000000", text))
        _expect("pip could not install" in self._install(status=1), "no reason")
        lock.write_text(text)
        _expect(self._show("MainPID") == before, "the old one was disturbed")

    def keeps_the_old_one_when_it_is_killed(self) -> None:
        before = self._show("MainPID")
        self._append("agent/cli/run.py", "# another version\n")
        killed = self._system.do("timeout", "-s", "KILL", "3", "/src/scripts/install")
        _expect(killed.returncode != 0, "it was not killed in the middle")
        _expect(self._show("MainPID") == before, "the old one was disturbed")
        self._expect_memory()

    def goes_back_from_an_agent_that_does_not_start(self) -> None:
        path = self._source / "agent/cli/run.py"
        text = path.read_text()
        place = self._system.root / places.PREFIX
        before = place.readlink()
        path.write_text(text.replace("def run(", f"{_BROKEN}\n\ndef run("))
        told = self._install(status=1)
        _expect("runs again" in told and "broken on purpose" in told, told)
        path.write_text(text)
        _expect(place.readlink() == before, "it does not lead back")
        self._expect_memory()

    def upgrades_and_remembers(self) -> None:
        path = self._source / "agent/__init__.py"
        path.write_text(path.read_text().replace('__version__ = "', '__version__ = "9.'))
        self._install()
        said = self._system.say("barnacle", "--version")
        _expect(said.startswith("barnacle 9."), said)
        versions = list((self._system.root / "opt/barnacle-versions").iterdir())
        _expect(len(versions) == 1, f"{versions}")
        self._expect_memory()

    def adds_an_extra_and_keeps_it(self) -> None:
        self._install("--extra", "gateway", "--extra", "mcp")
        self._append("agent/cli/run.py", "# yet another version\n")
        self._install()
        done = self._system.do("/opt/barnacle/bin/python", "-I", "-c", "import starlette, mcp")
        _expect(done.returncode == 0, done.stderr)
        without = self._system.do("/opt/barnacle/bin/python", "-I", "-c", "import psycopg")
        _expect(without.returncode != 0, "an extra that nobody asked for")

    def removes_itself_and_keeps_what_is_yours(self) -> None:
        told = self._install("--uninstall")
        _expect("/var/lib/barnacle" in told and "/etc/barnacle" in told, told)
        _expect(self._show("LoadState") == "not-found", self._show("LoadState"))
        kept = self._system.root / places.SETTINGS / "barnacle.toml"
        _expect(kept.exists(), "the configuration is gone")
        _expect("nothing changed" in self._install("--uninstall"), "it changed something")
        self._install()
        self._expect_memory()

    def removes_everything(self) -> None:
        self._install("--uninstall", "--purge")
        left = [path for path in self._files().keys() - self._before if not _LEFT.search(path)]
        _expect(not left, f"left: {left}")
        users = (self._system.root / "etc/passwd").read_text()
        _expect("barnacle" not in users, users)

    def _install(self, *options: str, status: int = 0) -> str:
        done = self._system.do("/src/scripts/install", *options)
        told = done.stdout + done.stderr
        _expect(done.returncode == status, f"status {done.returncode} of {options}:\n{told}")
        return told

    def _say(self, text: str) -> str:
        done = self._system.do("barnacle", "chat", "--plain", said=f"{text}\n")
        _expect(done.returncode == 0, done.stdout + done.stderr)
        return done.stdout

    def _expect_memory(self) -> None:
        told = self._say("what is my sister called?")
        _expect("Mei" in told, told)

    def _show(self, name: str) -> str:
        return self._system.say("systemctl", "show", "-P", name, places.ENABLED[0])

    def _handed_over(self) -> set[str]:
        return set(self._system.say("ls", f"/run/credentials/{places.ENABLED[0]}").split())

    def _append(self, name: str, text: str) -> None:
        with (self._source / name).open("a") as file:
            file.write(text)

    def _files(self) -> dict[str, int]:
        """The files that the system has outside its memory, and when it was changed."""
        root = self._system.root
        found = {}
        for name in ("etc", "opt", "usr"):
            for path in (root / name).rglob("*"):
                if path.is_symlink() or not path.is_dir():
                    found[f"/{path.relative_to(root)}"] = path.lstat().st_mtime_ns
        return found


def _expect(holds: object, seen: str) -> None:
    if not holds:
        raise Unmet(seen)
