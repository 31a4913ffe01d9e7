"""Debian's Postfix and Dovecot on ports of this machine, and people who write letters there.

Postfix vouches for people whom it knows, as a server does that has checked a signature.
"""

import asyncio
import contextlib
import email.policy
import os
import shutil
import signal
import smtplib
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from email import message_from_bytes
from email.message import EmailMessage
from functools import cache, partial
from pathlib import Path

import pytest

from tests.fakes import certificates
from tests.fakes.irc_server import free_port
from tests.leftovers import at_end
from tests.waits import wait_until, wait_until_sync

# Whoever is called so is vouched for
_KNOWN = "anna"
PASSWORD = "secret-of-the-tests"
# As good as the other one
LOCAL_PASSWORD = "Schlüssel€of-the-tests"
VOUCHES = "mx.example.org"
SMALL_BYTES = 50_000
_BIN = "/usr/sbin:/usr/bin"
DOVECOT, POSTFIX = shutil.which("dovecot", path=_BIN), shutil.which("postfix", path=_BIN)
_MASTER = Path("/usr/lib/postfix/sbin/master")
_DOVECOT = """\
protocols = imap lmtp
base_dir = {folder}/run
log_path = {folder}/log
listen = 127.0.0.1
{dovecot_tls}
disable_plaintext_auth = no
auth_mechanisms = plain login
mail_location = maildir:{folder}/mail/%u
first_valid_uid = 1
passdb {{
  driver = static
  args = password={password}
}}
passdb {{
  driver = static
  args = password={local_password}
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={folder}/mail/%u allow_all_users=yes
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = 127.0.0.1
    port = {lmtp}
  }}
}}
service auth {{
  inet_listener {{
    address = 127.0.0.1
    port = {auth}
  }}
}}
"""
POSTFIX_BASE = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
mail_owner = postfix
setgid_group = postdrop
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
maillog_file = {folder}/postfix.log
maillog_file_prefixes = /
myhostname = mx.example.org
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
virtual_mailbox_domains = example.org
virtual_transport = lmtp:inet:127.0.0.1:{lmtp}
lmtp_host_lookup = native
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:{auth}
smtpd_relay_restrictions = reject_unauth_destination
message_size_limit = 40000000
mailbox_size_limit = 0
virtual_mailbox_limit = 0
anvil_rate_time_unit = 1s
"""
_POSTFIX = f"""{POSTFIX_BASE}\
smtpd_sender_restrictions = check_sender_access regexp:{{folder}}/etc/known
"""
INNER_SERVICES = """\
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
lmtp unix - - n - - lmtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
"""
# Debian's submission port takes nothing before STARTTLS
_SERVICES = f"""\
{{smtp}} inet n - n - - smtpd
{{small}} inet n - n - - smtpd -o message_size_limit={SMALL_BYTES}
{{owners}} inet n - n - - smtpd
  -o smtpd_sender_restrictions=reject_authenticated_sender_login_mismatch
  -o smtpd_sender_login_maps=regexp:{{folder}}/etc/owners
{{submission}} inet n - n - - smtpd
  -o smtpd_tls_security_level=encrypt
  -o smtpd_tls_cert_file={{folder}}/etc/certificate.pem
  -o smtpd_tls_key_file={{folder}}/etc/key.pem
{INNER_SERVICES}"""


# What its programs would make if they were started by its script, which takes five seconds
_QUEUE = (
    *("active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming"),
    *("maildrop", "private", "public", "saved", "trace"),
)


class MailServer:
    """Both servers, from the first use to the end of this process."""

    def __init__(self, folder: Path) -> None:
        names = ("imap", "imaps", "lmtp", "auth", "smtp", "small", "owners", "submission")
        ports = {name: free_port() for name in names}
        self.imap, self.imaps = ports["imap"], ports["imaps"]
        self.smtp, self.submission = ports["smtp"], ports["submission"]
        # Takes no letter beyond SMALL_BYTES
        self.small = ports["small"]
        # Lets people send by their own address alone, as large providers do
        self.owners = ports["owners"]
        # Its certificate, for those who want to know it
        self.ca_file = folder / "postfix" / "etc" / "certificate.pem"
        self._mail = folder / "dovecot" / "mail"
        _write_rules(folder / "postfix")
        key, certificate = certificates.made(self.ca_file.parent, "IP:127.0.0.1")
        tls = f"ssl = yes\nssl_cert = <{certificate}\nssl_key = <{key}"
        write_dovecot(folder / "dovecot", ports, tls)
        write_postfix(folder / "postfix", _POSTFIX, _SERVICES, ports)
        commands = (dovecot_command(folder / "dovecot"), postfix_command(folder / "postfix"))
        self._processes = start(commands, folder / "output")
        for name in ("imap", "imaps", "lmtp", "smtp", "small", "owners", "submission"):
            wait_for(ports[name])

    def letters(self, to: str) -> list[EmailMessage]:
        """What somebody has got, in the order in which it came."""
        return [_parsed(raw) for raw in delivered(self._mail / to)]

    async def hand_in(self, letter: bytes, sender: str, to: str) -> None:
        """Somebody submits it; return when it is in the mailbox."""
        before = len(self.letters(to))
        await asyncio.to_thread(self._submit, letter, sender, to)
        await wait_until(lambda: len(self.letters(to)) > before)

    def spoil(self, to: str) -> None:
        """Let Dovecot read nothing of what somebody has not seen."""
        for letter in (self._mail / to).glob("new/*"):
            letter.chmod(0)

    def stop(self) -> None:
        end(self._processes)

    def _submit(self, letter: bytes, sender: str, to: str) -> None:
        with smtplib.SMTP("127.0.0.1", self.smtp, "localhost", 20) as client:
            client.sendmail(sender, [to], letter)


@cache
def shared() -> MailServer:
    """One for all tests of this process: each has addresses of its own."""
    need_servers()
    folder = Path(tempfile.mkdtemp(prefix="mail-"))
    server = MailServer(folder)
    at_end(partial(shutil.rmtree, folder, ignore_errors=True))
    at_end(server.stop)
    return server


def need_servers() -> None:
    if DOVECOT is None or POSTFIX is None:
        pytest.skip("Debian's dovecot and postfix are not installed")
    if os.geteuid() != 0:
        pytest.skip("mail servers give each of their programs a user: needs root")


def start(commands: Iterable[Sequence[str]], output_file: Path) -> list["subprocess.Popen[bytes]"]:
    """Each in a group of its own: Postfix ends all of its group."""
    with output_file.open("wb") as output:
        return [
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            for command in commands
        ]


def end(processes: Iterable["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def wait_for(port: int) -> None:
    def is_listening() -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        return False

    wait_until_sync(is_listening, told=lambda: port)


def delivered(maildir: Path) -> list[bytes]:
    """The letters of a mailbox, in the order in which they came."""
    while True:
        files = [*maildir.glob("new/*"), *maildir.glob("cur/*")]
        files.sort(key=lambda file: _stamp(file.name))
        # Dovecot moves a letter, and renames it, when somebody looks at it
        with contextlib.suppress(FileNotFoundError):
            return [file.read_bytes() for file in files]


def dovecot_command(folder: Path) -> tuple[str, ...]:
    return (str(DOVECOT), "-F", "-c", str(folder / "dovecot.conf"))


def postfix_command(folder: Path) -> tuple[str, ...]:
    return (str(_MASTER), "-c", str(folder / "etc"), "-d")


def write_dovecot(folder: Path, ports: Mapping[str, int], tls: str = "ssl = no") -> None:
    (folder / "mail").mkdir(parents=True)
    shutil.chown(folder / "mail", "mail", "mail")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o011)
    told = {"imaps": 0, **ports, "dovecot_tls": tls}
    passwords = {"password": PASSWORD, "local_password": LOCAL_PASSWORD}
    config = _DOVECOT.format(folder=folder, **passwords, **told)
    (folder / "dovecot.conf").write_text(config)


def write_postfix(folder: Path, main: str, services: str, ports: Mapping[str, int]) -> None:
    for path in (folder / "etc", folder / "queue", folder / "data"):
        path.mkdir(parents=True, exist_ok=True)
    shutil.chown(folder / "data", "postfix")
    told = {"folder": folder, **ports}
    (folder / "etc" / "main.cf").write_text(main.format(**told))
    (folder / "etc" / "master.cf").write_text(services.format(**told))
    for name in _QUEUE:
        (folder / "queue" / name).mkdir(mode=0o700)
        shutil.chown(folder / "queue" / name, "postfix")
    (folder / "queue" / "pid").mkdir()
    (folder / "queue" / "public").chmod(0o755)


def _write_rules(folder: Path) -> None:
    (folder / "etc").mkdir(parents=True)
    result = f"PREPEND Authentication-Results: {VOUCHES}; dmarc={{}} header.from=example.org"
    rules = f"/^{_KNOWN}[0-9]*@/ {result.format('pass')}\n/./ {result.format('fail')}\n"
    (folder / "etc" / "known").write_text(rules)
    (folder / "etc" / "owners").write_text("/^(.+)$/ $1\n")


def _parsed(raw: bytes) -> EmailMessage:
    letter = message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(letter, EmailMessage)
    return letter


def _stamp(name: str) -> tuple[int, int]:
    """Dovecot's names begin with seconds and microseconds."""
    seconds, rest = name.split(".", 1)
    return int(seconds), int(rest[1:].partition("P")[0])
