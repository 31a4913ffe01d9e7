"""HTTP for platforms that push."""
