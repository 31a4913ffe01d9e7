# Bytes in arguments and results (their number, then themselves), and when they may be sent.

import frame
from node.calls import AT, Refusal, need


def require_unlocked(outputs):
    # Nobody knows what bytes on a wire move
    if outputs.stopped:
        raise Refusal(frame.UNSAFE_STATE, "stopped: nothing is sent")


def put(answer, data, count):
    # As the whole of a result; returns its size
    answer[AT] = count
    answer[AT + 1 : AT + 1 + count] = memoryview(data)[:count]
    return 1 + count


def take(arguments, at, most):
    need(arguments, at + 1)
    count = arguments[at]
    need(arguments, at + 1 + count)
    if not 0 < count <= most:
        raise Refusal(frame.OUT_OF_RANGE, "1 to %d bytes" % most)
    return arguments[at + 1 : at + 1 + count]


# Who uses a 1-Wire line: what takes several passes of the loop is not to be disturbed
_users: dict = {}


def hold(pin, user):
    # Whether it is that user's now, or was already
    return _users.setdefault(pin, user) is user


def let_go(pin, user):
    if _users.get(pin) is user:
        del _users[pin]
