"""The agent's end of the console: browsers as people who talk, and what their pages show."""
