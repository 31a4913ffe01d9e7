"""A channel by the robot of an app of DingTalk."""
