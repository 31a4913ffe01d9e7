"""A message's way: inbox, queue, worker, outbox, delivery."""
