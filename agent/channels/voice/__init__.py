"""A channel by a microphone and a loudspeaker of this machine, through ALSA."""
