"""Gate, approvals, audit and isolation."""
