"""State of an agent after a share of a long life, made without living it."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from agent.embeddings.onnx import OnnxEmbedder
from agent.memory import facts
from agent.memory.brain import MIGRATIONS as BRAIN_MIGRATIONS
from agent.messages import ChatMessage, Inbound, Provenance
from agent.messaging import inbox, outbox
from agent.messaging.journal import MIGRATIONS, InboxState
from agent.passage import outside
from agent.schedule.job import MAX_JOBS, Job
from agent.schedule.job_store import JobStore
from agent.security.audit import Audit
from agent.storage.database import SMALL_PAGE_BYTES, open_database
from agent.system.clock import SystemClock
from agent.turn import history
from agent.turn.history import History
from agent.turn.settings import AgentSettings
from scripts.lib.bench import cold
from scripts.lib.bench.flow_agent import ROOT
from tests.fakes.telegram_world import ANNA

PEOPLE = 50
MESSAGES = 100_000
# As many as a memory keeps by default, in all
MEMORIES = 100_000
# Of a year
AUDIT_ROWS = 365 * 200
# Turns that a history holds at most; those before them are in no request
_TURNS_EACH = 400
_BATCH = 2_000
_SAID = "Is the lamp in the hall on, and how warm was it there yesterday evening? ({number})"
_ANSWER = "The lamp is on. It was 21.4 degrees at eight, and 20.9 at ten. ({number})"


def fill(state: Path, share: float) -> int:
    """Make the state in the folder; return the number of messages."""
    messages = int(MESSAGES * share)
    if messages:
        _journal(state, messages)
        _memories(state, int(MEMORIES * share), messages)
        _jobs(state, int(MAX_JOBS * share))
        _audit(state, int(AUDIT_ROWS * share))
    return messages


def _journal(state: Path, messages: int) -> None:
    with closing(open_database(state / "agent.db", MIGRATIONS, SMALL_PAGE_BYTES)) as db:
        for start in range(0, messages, _BATCH):
            db.execute("BEGIN")
            for number in range(start, min(start + _BATCH, messages)):
                _message(db, number, messages)
            inbox.trim(db)
            db.execute("COMMIT")
        db.execute("BEGIN")
        while inbox.trim(db):
            pass
        for person in range(PEOPLE):
            said = _inbound(person, person).conversation
            history.bound(db, said, AgentSettings().history_tokens)
        db.execute("COMMIT")


def _message(db: sqlite3.Connection, number: int, messages: int) -> None:
    inbound = _inbound(number, number % PEOPLE)
    accepted = inbox.accept(db, inbound, begins=True)
    assert accepted is not None
    answer = _ANSWER.format(number=number)
    outbox.mark_sent(db, outbox.add(db, accepted, answer).outbox_id)
    inbox.close(db, accepted.inbox_id, InboxState.ANSWERED)
    if number >= messages - PEOPLE * _TURNS_EACH:
        asked = ChatMessage.user(outside(inbound.text, inbound.provenance, ""))
        told = ChatMessage.assistant(outside(answer, inbound.provenance, ""))
        history.append(db, inbound.conversation, History((asked, told), inbound.provenance))


def _inbound(number: int, person: int) -> Inbound:
    who = f"{ANNA + person}"
    text = _SAID.format(number=number)
    trust = Provenance.USER if person else Provenance.OWNER
    return Inbound(f"{who}-{number}", "telegram", who, who, text, float(number), trust)


def _memories(state: Path, memories: int, messages: int) -> None:
    model = Path(os.environ.get("BARNACLE_MODEL_DIR", ROOT / ".barnacle" / "model"))
    folder = state / "memory"
    folder.mkdir(mode=0o700)
    path = folder / "brain.db"
    cold.fill(path, memories, OnnxEmbedder(model).model_id, PEOPLE)
    # What was said is kept already
    with closing(open_database(path, BRAIN_MIGRATIONS, SMALL_PAGE_BYTES)) as db:
        facts.put_kept(db, messages)
    progress = {"kept": messages, "drawn": messages}
    (folder / "consolidation.json").write_text(json.dumps(progress))


def _jobs(state: Path, jobs: int) -> None:
    store = JobStore(state / "jobs.json")
    for number in range(jobs):
        store.add(
            Job(
                name=f"job-{number}",
                channel="telegram",
                target=f"{ANNA}",
                person="owner",
                trust=int(Provenance.OWNER),
                cron="0 4 1 1 *",
                prompt="Look whether everything is all right.",
            )
        )


def _audit(state: Path, rows: int) -> None:
    audit = Audit(state / "audit", lambda text: text, SystemClock())
    for number in range(rows):
        audit.append(
            {"kind": "call", "tool": "pin_write", "turn": f"telegram:{number}", "level": "write"},
            durable=False,
        )
    audit.close()
