"""Approvals: each tool call is decided, asked about where the policy says so, and recorded."""
