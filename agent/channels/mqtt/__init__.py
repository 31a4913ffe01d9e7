"""A channel by an MQTT broker, which also shows the boards to Home Assistant."""
