"""Isolation of programs that tools start: one seam, two implementations."""
