"""Readings in a PostgreSQL server that several agents may share."""
