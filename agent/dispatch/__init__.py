"""A message's way: inbox, session, prompt, turn, outbox."""
