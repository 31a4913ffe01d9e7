# Stands in for the world around the simulated board while power cuts are tried: it counts erases.

erases = 0


def record(event):
    global erases  # noqa: PLW0603  - there is one flash
    if event["event"] == "erase":
        erases += 1
