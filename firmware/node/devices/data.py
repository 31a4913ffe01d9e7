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
