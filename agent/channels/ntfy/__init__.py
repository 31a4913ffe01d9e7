"""A channel by an ntfy topic, on ntfy.sh or a server of one's own."""
