"""Rendering of an answer's Markdown for each platform, and its split into parts."""
