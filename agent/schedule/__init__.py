"""Scheduled jobs, timers and reminders."""
