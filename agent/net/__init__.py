"""HTTP, TLS and server-sent events: what every part that talks to other machines shares."""
