"""Another version of the whole system: into the slot that does not run, tried once, kept or left.

Runs as root, started by a person or by the service manager; the agent itself has no part in it.
"""
