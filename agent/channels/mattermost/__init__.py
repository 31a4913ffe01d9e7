"""Mattermost: its REST API and its WebSocket, version 4."""
