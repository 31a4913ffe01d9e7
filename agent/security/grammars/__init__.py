"""Grammars of the programs that may run, each in a file named for its subject."""
