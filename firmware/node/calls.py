# What the board can be asked to do: methods by number, from the features that the board has.
#
# A handler gets the packed arguments and writes the packed result into the answer, from AT on;
# whatever goes wrong in it becomes an answer code. A feature is an object with
#   handlers()                        methods by number
#   obey(method, arguments, answer)   those that no table has; optional, one feature at most
#   tick(now_ms)                      called in every pass of the main loop; optional
#   begin_session(is_open)            a new session begins, or none is open any more; optional

import frame
from micropython import const

# Where the result begins in an answer
AT = 3
_TEXT_LIMIT_BYTES = const(80)


class Refusal(Exception):
    # The request is understood and not done; `code` is an answer code, the text says why.

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.text = text


class Calls:
    def __init__(self, features):
        # The code of the last run
        self.code = frame.OK
        self._handlers = {}
        self._others = _unknown
        for feature in features:
            self._handlers.update(feature.handlers())
            if hasattr(feature, "obey"):
                self._others = feature.obey
        self._ticking = tuple(one for one in features if hasattr(one, "tick"))
        self._sessions = tuple(one for one in features if hasattr(one, "begin_session"))

    def begin_session(self, is_open):
        for feature in self._sessions:
            feature.begin_session(is_open)

    def tick(self, now_ms):
        for feature in self._ticking:
            feature.tick(now_ms)

    def run(self, method, arguments, answer):
        # Returns how many bytes of result were written; `code` says how it went
        self.code = frame.OK
        try:
            handler = self._handlers.get(method)
            if handler is None:
                return self._others(method, arguments, answer)
            return handler(arguments, answer)
        except Refusal as refusal:
            self.code = refusal.code
            return _write_text(answer, refusal.text)
        except Exception as fault:  # a handler's fault is an answer, never the end of the loop
            self.code = frame.IO
            return _write_text(answer, type(fault).__name__)


def need(arguments, count):
    # More than needed is a newer Pi's business: ignored
    if len(arguments) < count:
        raise Refusal(frame.BAD_REQUEST, "arguments missing")


def _unknown(_method, _arguments, _answer):
    raise Refusal(frame.NOT_SUPPORTED, "this board has no such method")


def _write_text(answer, text):
    data = text.encode()[:_TEXT_LIMIT_BYTES]
    answer[AT : AT + len(data)] = data
    return len(data)
