"""Calls of Phi and Granite: a list of objects behind `<|tool_call|>`."""

from agent.providers.prompted.templates.base import framed_json

TEMPLATE = framed_json("phi", "<|tool_call|>", "<|/tool_call|>")
