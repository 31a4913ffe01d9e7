"""Recorder of what a real platform sends, with secrets and names replaced."""
