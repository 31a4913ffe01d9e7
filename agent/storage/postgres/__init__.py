"""A PostgreSQL server: its connection, transactions and errors."""
