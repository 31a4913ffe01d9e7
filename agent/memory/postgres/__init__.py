"""Long-term memory in a PostgreSQL server that several agents may share."""
