"""Protocols by which other assistants use this agent, each behind the same gate."""
