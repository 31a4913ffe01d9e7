"""Commands that are typed instead of a message, for platforms that show a list of them."""

COMMANDS = (
    ("help", "what can be typed here"),
    ("new", "begin a new conversation"),
    ("status", "how the device, the board and the model are"),
    ("stop", "break off what is being done"),
    ("estop", "emergency stop: every output safe"),
    ("memory", "what is remembered of you"),
    ("model", "which model answers here"),
    ("models", "the models that there are"),
    ("board", "how the boards are, and what is wired to them"),
    ("jobs", "what is done for you at times"),
    ("pair", "say a code, so that the agent knows you"),
)
