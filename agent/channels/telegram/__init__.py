"""Telegram, by its Bot API over HTTP: a bot of the owner's that people write to."""
