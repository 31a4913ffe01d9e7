"""USB devices that are plugged into an emulated computer: real to its kernel, simulated here."""
