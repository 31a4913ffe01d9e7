"""XMPP: an account on any server, on slixmpp."""
