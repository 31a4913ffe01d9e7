"""Tools of other programs, over the Model Context Protocol (MCP).

A bridge process stands between each server and the agent; only the bridge imports the SDK. A tool
is used once the owner has approved its exact description.
"""
