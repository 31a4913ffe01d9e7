"""Answers without a network and without a language model: words, a little grammar, tools."""
