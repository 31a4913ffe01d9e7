"""People of the tests, each with memories of their own."""

from agent.memory.base import Scope

MEI = Scope("mei")
TOM = Scope("tom")
EVERYBODY = Scope()
