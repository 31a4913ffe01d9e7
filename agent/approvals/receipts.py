"""Receipts of a call: the rows of the audit log that the gate wrote about it.

Whoever wants them asks before the call; the records add to them, and nobody else.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from agent.security.audit_chain import Link


@dataclass(frozen=True, slots=True)
class AuditReceipt:
    """Row of the audit log: what it records, its number and its hash."""

    kind: str
    link: Link


_collected: ContextVar[list[AuditReceipt] | None] = ContextVar("receipts", default=None)


@contextlib.contextmanager
def collected() -> Iterator[list[AuditReceipt]]:
    """Yield the receipts of the calls of this task, while they come."""
    receipts: list[AuditReceipt] = []
    token = _collected.set(receipts)
    try:
        yield receipts
    finally:
        _collected.reset(token)


def note(kind: str, link: Link) -> None:
    """Add a row for whoever collects."""
    if (receipts := _collected.get()) is not None:
        receipts.append(AuditReceipt(kind, link))
