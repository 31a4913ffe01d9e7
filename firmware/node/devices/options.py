# What a configured entry may ask of its device, checked before anything is made of it.

_EVERYWHERE = ("name", "kind", "pin", "active_low", "aliases", "about", "unit", "safety")
_OF_OUTPUTS = ("safe", "lease_ms", "max_on_ms", "min_off_ms", "per_minute", "needs")


def require_known(entry, own, is_output=False):  # noqa: FBT002  - names cost memory at every call
    # A limit that is misspelt would be no limit
    known = _EVERYWHERE + own + (_OF_OUTPUTS if is_output else ())
    for option in entry:
        if option not in known:
            raise ValueError("unknown option " + option)


def whole(entry, name, lowest, highest, default):
    # A whole number within limits; the text of the error is for whoever wrote the configuration
    value = entry.get(name, default)
    if type(value) is not int or not lowest <= value <= highest:
        raise ValueError("%s is a whole number, %d to %d" % (name, lowest, highest))
    return value


def pin_name(entry, name):
    value = entry.get(name)
    if type(value) is not str or not value:
        raise ValueError(name + " names a pin of the microcontroller")
    return value
