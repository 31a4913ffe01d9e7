"""Gemini's `generateContent`, with its own way of tools and of thinking."""
