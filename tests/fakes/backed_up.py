"""A device as it is when a backup is made: messages, jobs, timers and approvals in flight."""

import sqlite3
from contextlib import closing
from pathlib import Path

from agent.backup.encryption import Keys, Recipients, make_key
from agent.backup.inventory import Inventory
from agent.backup.restore import OutsideFolders, RestoreTarget
from agent.backup.switching import SystemPlaces
from agent.backup.writer import BackupPlan
from agent.messages import Inbound, Provenance
from agent.messaging import inbox, outbox
from agent.messaging.journal import MIGRATIONS
from agent.schedule.job import Job
from agent.schedule.job_store import JobStore
from agent.schedule.timer import CountdownTimer
from agent.schedule.timer_store import TimerStore
from agent.security.approvals import StandingApproval, StandingApprovals
from agent.storage.database import SMALL_PAGE_BYTES, open_database
from agent.system.clock import SystemClock

SECRET, PUBLIC = make_key()
KEYS, RECIPIENTS = Keys(identities=(SECRET,)), Recipients(keys=(PUBLIC,))


class BackedUpDevice:
    """A device with one thing of each sort open."""

    def __init__(self, root: Path, name: str = "greenhouse") -> None:
        self.root = root
        self.name = name
        self.state = root / "state"
        self.config = root / "etc" / "barnacle.toml"
        (self.state / "workspace").mkdir(parents=True)
        self.config.parent.mkdir()
        self.credentials: dict[str, str] = {}

    def fill(self, now_s: float) -> None:
        """Put everything in flight that a backup may meet."""
        self.config.write_text('[agent]\nname = "Greenhouse"\n')
        (self.state / "workspace" / "IDENTITY.md").write_text("I am a greenhouse.")
        self.say("pump on", "1")
        self.answer("I water at seven.")
        jobs = JobStore(self.state / "jobs.json")
        for job in (
            _job("soon", at_s=now_s + 600, message="call Anna", language="en"),
            _job("later", at_s=now_s + 10 * 86400, message="buy seeds", language="en"),
            _job("daily", cron="0 7 * * *", prompt="water the tomatoes", seen_s=now_s),
            _job("often", every_s=3600.0, prompt="look at the tank", ran_s=now_s - 3000),
            _job("begun", cron="0 5 * * *", prompt="open the window", result="begun"),
        ):
            jobs.add(job)
        TimerStore(self.state / "timers.json").add(
            CountdownTimer(
                number=0, seconds=300, channel="c", target="t", person="owner", name="tea"
            )
        )
        self.approve("lamp")

    def say(self, text: str, message_id: str) -> None:
        """Accept a message that nobody has answered."""
        said = Inbound(
            message_id=message_id,
            channel="telegram",
            sender="7",
            reply_target="7",
            text=text,
            received_at_s=1.0,
            provenance=Provenance.OWNER,
        )
        with self.journal() as db:
            inbox.accept(db, said)

    def answer(self, text: str) -> None:
        """Leave a message that nobody has sent."""
        with self.journal() as db:
            outbox.announce(db, "telegram", "7", text)

    def approve(self, pin: str) -> None:
        approvals = StandingApprovals(self.state / "approvals.json", SystemClock())
        approvals.add(
            StandingApproval(
                call=f"call-{pin}",
                tool="gpio_write",
                arguments=pin,
                until_s=approvals.end_s(),
                words=f"write {pin}",
            )
        )

    def journal(self) -> "closing[sqlite3.Connection]":
        return closing(open_database(self.state / "agent.db", MIGRATIONS, SMALL_PAGE_BYTES))

    def states(self, table: str) -> list[str]:
        with self.journal() as db:
            return [row[0] for row in db.execute(f"SELECT state FROM {table} ORDER BY id")]

    def backup(self, path: Path) -> Path:
        inventory = Inventory(
            self.state,
            self.state / "workspace",
            self.state / "workspace" / "documents",
            self.config,
            credentials=self.credentials,
        )
        BackupPlan(inventory, RECIPIENTS, self.name).write_file(path)
        return path

    def target(self, now_s: float) -> RestoreTarget:
        def put_file(path: Path, content: bytes, _kept: Path) -> None:
            path.write_bytes(content)

        def put_credentials(values: dict[str, bytes], _kept: Path) -> None:
            self.credentials |= {name: value.decode() for name, value in values.items()}

        system = SystemPlaces(put_file, put_credentials, lambda _values, _kept: None)  # type: ignore[arg-type]  # a dict is a mapping
        return RestoreTarget(self.state, self.config, system, lambda _c: OutsideFolders(), now_s)


def _job(name: str, **more: object) -> Job:
    return Job(name=name, channel="telegram", target="7", person="owner", **more)  # type: ignore[arg-type]  # as the caller says
