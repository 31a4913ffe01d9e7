"""The operating system and the process: clock, logs, programs, and the systemd journal."""
