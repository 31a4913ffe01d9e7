"""Debian's ngircd on a port of this machine, and people who are there."""

import asyncio
import contextlib
import random
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.channels.irc.inbound import IrcLine, read_line, write_line
from tests.fakes import certificates
from tests.waits import wait_until

NGIRCD = shutil.which("ngircd", path="/usr/sbin:/usr/bin")
CHANNEL = "#lab"
_CONFIG = """\
[Global]
Name = irc.example.org
Info = a server of the tests
AdminEMail = root@localhost
Listen = 127.0.0.1
Ports = {port}
MotdPhrase = hello
PidFile = {folder}/ngircd.pid
ServerUID = {user}
ServerGID = {user}

[Limits]
MaxConnectionsIP = 0
MaxNickLength = 20
MaxPenaltyTime = 0
PingTimeout = {ping_s}
PongTimeout = 20

[Options]
DNS = no
Ident = no
PAM = no
SyslogFacility = local1
{tls}"""
_TLS = """
[SSL]
CertFile = {certificate}
KeyFile = {key}
Ports = {port}
"""


class Ngircd:
    """The server; what was said there is gone when it ends."""

    def __init__(self, folder: Path, ping_s: int = 60, tls_port: int = 0) -> None:
        self._folder = folder
        self.tls_port = tls_port
        self._ping_s = ping_s
        self.port = free_port()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"irc://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "ngircd.conf"
        told = {"port": self.port, "folder": self._folder, "ping_s": self._ping_s}
        told["tls"] = self._tls()
        config.write_text(_CONFIG.format(user="nobody", **told))
        command = (str(NGIRCD), "--nodaemon", "--config", str(config))
        self._process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        await reachable(self.port)

    def _tls(self) -> str:
        if not self.tls_port:
            return ""
        key, certificate = certificates.made(self._folder, "IP:127.0.0.1")
        key.chmod(0o644)
        return _TLS.format(certificate=certificate, key=key, port=self.tls_port)

    def freeze(self) -> None:
        """It takes nothing from now on, and its connections stay."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    async def stop(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGKILL)
            await self._process.wait()


class Visitor:
    """A person's client: says lines, and remembers what is said."""

    def __init__(self, nick: str, user: str = "") -> None:
        self.nick = nick
        self._user = user or nick
        self.heard: list[IrcLine] = []
        self._asked = 0
        self._answered = ""
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def enter(self, port: int, *rooms: str) -> None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._reading = asyncio.ensure_future(self._read(reader))
        self.say("NICK", self.nick)
        self.say("USER", self._user, "0", "*", "A visitor")
        await wait_until(lambda: self.has("001"))
        for room in rooms:
            self.say("JOIN", room)
            await wait_until(lambda: self.has("366"))

    def say(self, *words: str) -> None:
        assert self._writer is not None
        self._writer.write(write_line(*words))

    def has(self, command: str) -> bool:
        return any(line.command == command for line in self.heard)

    @property
    def mask(self) -> str:
        """nick!user@host as the server tells it; empty before it was seen."""
        own = (line.source for line in self.heard if line.command == "JOIN")
        return next((source for source in own if source.startswith(f"{self.nick}!")), "")

    def told(self, by: str, where: str) -> list[str]:
        """What somebody said to us or in a channel."""
        return [
            line.parameter(1)
            for line in self.heard
            if line.command == "PRIVMSG" and line.nick == by and line.parameter(0) == where
        ]

    async def catch_up(self) -> None:
        """Until everything that the server has for us by now was heard."""
        self._asked += 1
        self.say("PING", str(self._asked))
        await wait_until(lambda: self._answered == str(self._asked))

    async def leave(self) -> None:
        if self._writer is not None and self._reading is not None:
            self._writer.close()
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while raw := await reader.readline():
            line = read_line(raw.rstrip(b"\r\n"))
            if line is not None and line.command == "PING":
                self.say("PONG", line.parameter(-1))
            elif line is not None and line.command == "PONG":
                self._answered = line.parameter(-1)
            elif line is not None:
                self.heard.append(line)


@contextlib.asynccontextmanager
async def running(folder: Path, ping_s: int = 60, tls_port: int = 0) -> AsyncIterator[Ngircd]:
    """The server, which asks those who are silent for `ping_s` if they are there.

    Args:
        tls_port: where it has a certificate of its own, `certificate.pem` in the folder.
    """
    if NGIRCD is None:
        pytest.skip("Debian's ngircd is not installed")
    server = Ngircd(folder, ping_s, tls_port)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def free_port() -> int:
    """None of those that the system hands out: a test beside this one would get it meanwhile."""
    while True:
        port = random.randint(20_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


async def reachable(port: int) -> None:
    async def is_there() -> bool:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return True
        return False

    await wait_until(is_there, look_s=0.02)
