# Which pins of the MCU an entry of the configuration uses, and what it shadows of the board file.
#
# Loaded when entries are judged or put in place.

_A, _K = b"AK"


def is_pin(value):
    # "PB12" is one, whether or not this board has it
    if type(value) is not str or not 3 <= len(value) <= 4 or not value.startswith("P"):
        return False
    return _A <= value.encode()[1] <= _K and value[2:].isdigit()


def is_shadowed(row, entries):
    # Whether one of the entries has the name or the pin of that row of the board file
    return any(entry["name"] == row["name"] or row["pin"] in entry.values() for entry in entries)
