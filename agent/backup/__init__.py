"""A backup that is a device: made, looked at, verified and restored."""
