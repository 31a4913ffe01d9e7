"""Earlier place of the hooks; nothing else is left here."""
