# Who uses a 1-Wire line: what takes several passes of the loop is not to be disturbed.

_users: dict = {}


def take(pin, user):
    # Whether it is that user's now, or was already
    return _users.setdefault(pin, user) is user


def release(pin, user):
    if _users.get(pin) is user:
        del _users[pin]
