"""Debian's InspIRCd with Anope's NickServ: a server with accounts, SASL and what IRCv3 adds."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from tests.fakes.irc_server import Visitor, free_port, reachable
from tests.leftovers import folder_of_pytest
from tests.waits import wait_until

INSPIRCD = shutil.which("inspircd", path="/usr/sbin:/usr/bin")
ANOPE = shutil.which("anope", path="/usr/sbin:/usr/bin")
_NOBODY = 65534
_MODULES = (
    "cap ircv3 ircv3_accounttag ircv3_echomessage ircv3_msgid ircv3_servertime ircv3_ctctags "
    "services_account spanningtree hidechans servprotect globops svshold chghost chgident censor"
)
_SERVER = """\
<server name="irc.example.org" description="tests" network="Tests" id="97K">
<admin name="a" nick="a" email="a@localhost">
<bind address="127.0.0.1" port="{port}" type="clients">
<bind address="127.0.0.1" port="{link}" type="servers">
<power hash="plaintext" diepass="x" restartpass="x">
<connect allow="*" timeout="60" pingfreq="60" hardsendq="1M" softsendq="64K" recvq="16K"
    threshold="1000" commandrate="100000" fakelag="no" localmax="100" globalmax="100"
    resolvehostnames="no" useident="no">
<class name="Shutdown" commands="DIE">
<options splitwhois="no" prefixquit="" syntaxhints="no" hidemodes="eI">
<performance quietbursts="yes">
<security genericoper="no" maxtargets="20">
<limits maxnick="30" maxchan="64">
{modules}
{sasl_target}
<badword text="rude" replace="****">
<link name="services.example.org" ipaddr="127.0.0.1" port="{link}" allowmask="127.0.0.0/8"
    sendpass="secret" recvpass="secret">
<uline server="services.example.org" silent="yes">
<pid file="{folder}/inspircd.pid">
<path configdir="{folder}" datadir="{folder}" logdir="{folder}" runtimedir="{folder}"
    moduledir="/usr/lib/inspircd/modules">
"""
_SERVICES = """\
uplink {{ host = "127.0.0.1"; ipv6 = no; ssl = no; port = {link}; password = "secret" }}
serverinfo {{ name = "services.example.org"; description = "x"; pid = "{folder}/anope.pid";
    motd = "motd" }}
networkinfo {{ networkname = "Tests"; nicklen = 30; userlen = 11; hostlen = 64; chanlen = 64;
    modelistsize = 100; vhost_chars = "abc.-" }}
options {{ casemap = "rfc1459"; strictpasswords = no; badpasslimit = 5; badpasstimeout = 1h;
    updatetimeout = 5m; expiretimeout = 30m; readtimeout = 5s; warningtimeout = 4h;
    timeoutcheck = 3s; retrywait = 1s; seed = 1 }}
module {{ name = "inspircd3"; use_server_side_mlock = yes; use_server_side_topiclock = yes }}
module {{ name = "enc_sha256" }}
service {{ nick = "NickServ"; user = "services"; host = "services.example.org"; gecos = "x" }}
module {{ name = "nickserv"; client = "NickServ"; forceemail = no; registration = "none";
    defaults = ""; regdelay = 0s; expire = 0d; releasetimeout = 1m; guestnickprefix = "Guest" }}
module {{ name = "ns_register" }}
module {{ name = "ns_identify" }}
{sasl}
command {{ service = "NickServ"; name = "REGISTER"; command = "nickserv/register" }}
command {{ service = "NickServ"; name = "IDENTIFY"; command = "nickserv/identify" }}
mail {{ usemail = no; sendmailpath = "/bin/true"; sendfrom = "a@b"; registration_subject = "x";
    registration_message = "x"; reset_subject = "x"; reset_message = "x";
    emailchange_subject = "x"; emailchange_message = "x"; memo_subject = "x"; memo_message = "x" }}
"""


@contextlib.asynccontextmanager
async def running(folder: Path, *, has_sasl: bool = True) -> AsyncIterator[int]:
    """The port of a server whose NickServ is there."""
    if INSPIRCD is None or ANOPE is None:
        pytest.skip("Debian's inspircd and anope are not installed")
    port, link = free_port(), free_port()
    names = [*_MODULES.split(), *(["sasl"] if has_sasl else [])]
    modules = "\n".join(f'<module name="{name}">' for name in names)
    told = {"port": port, "link": link, "folder": folder, "modules": modules}
    told["sasl_target"] = '<sasl target="services.example.org">' if has_sasl else ""
    told["sasl"] = 'module { name = "m_sasl" }' if has_sasl else ""
    _write(folder, told)
    async with contextlib.AsyncExitStack() as stack:
        config = str(folder / "inspircd.conf")
        await stack.enter_async_context(
            _process(folder, str(INSPIRCD), "--config", config, "--nofork", "--runasroot")
        )
        await reachable(port)
        places = [f"--{kind}dir={folder / name}" for kind, name in _PLACES]
        await stack.enter_async_context(
            _process(folder, str(ANOPE), "--nofork", "--nothird", *places)
        )
        await _has_services(port)
        yield port


_PLACES = (("conf", "conf"), ("db", "data"), ("log", "logs"), ("modules", "/usr/lib/anope"))


async def registered(port: int, nick: str, password: str) -> Visitor:
    """Somebody with an account of that name."""
    visitor = Visitor(nick)
    await visitor.enter(port)
    visitor.say("PRIVMSG", "NickServ", f"REGISTER {password} {nick}@example.org")
    await wait_until(lambda: visitor.has("900"))
    return visitor


async def _has_services(port: int) -> None:
    watcher = Visitor("watcher")
    await watcher.enter(port)

    def is_there() -> bool:
        watcher.say("PRIVMSG", "NickServ", "REGISTER")
        return any(line.nick == "NickServ" for line in watcher.heard)

    await wait_until(is_there)
    await watcher.leave()


@contextlib.asynccontextmanager
async def _process(folder: Path, *command: str) -> AsyncIterator[None]:
    """As nobody where we are root: Anope waits three seconds before it runs as root."""
    user = _NOBODY if os.geteuid() == 0 else None
    if user is not None:
        _hand_over(folder, user)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        user=user,
        group=user,
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _write(folder: Path, told: Mapping[str, object]) -> None:
    for name in ("conf", "data", "logs"):
        (folder / name).mkdir(parents=True)
    (folder / "conf" / "motd").touch()
    (folder / "inspircd.conf").write_text(_SERVER.format(**told))
    (folder / "conf" / "services.conf").write_text(_SERVICES.format(**told))


def _hand_over(folder: Path, user: int) -> None:
    """With the way there: pytest's own folders are for their owner alone."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)
    for parent in folder.parents:
        if folder_of_pytest() in parent.parents:
            parent.chmod(parent.stat().st_mode | 0o011)
