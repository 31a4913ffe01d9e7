# What a configured entry may ask of its device, checked before anything is made of it.


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
