"""IRC: RFC 2812 with what IRCv3 adds, over one connection."""
