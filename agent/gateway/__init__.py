"""Gateway: HTTP for platforms that push."""
