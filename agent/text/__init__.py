"""Text that people read: printable characters, harmless links, hints for configuration keys."""
