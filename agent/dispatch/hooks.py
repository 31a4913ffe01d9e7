"""Earlier name of `agent.turn.hooks`: hooks that were written for it still load."""

from agent.turn.hooks import Cancel, Hook

__all__ = ["Cancel", "Hook"]
