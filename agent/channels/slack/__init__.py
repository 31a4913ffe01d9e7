"""Slack: an app of a workspace, by Socket Mode and the Web API."""
