# A feature whose code takes memory only once somebody needs it: a board has little.


class OnDemand:
    # `make` imports the feature and makes it; it is called at the first request for `method`, or
    # at once where there is something for it to do already. One that comes to rest says so by
    # `is_idle`, and is dropped: `drop` takes its code out of memory.

    def __init__(self, method, make, is_needed, drop=None):
        self._method = method
        self._make = make
        self._drop = drop
        self._made = make() if is_needed else None

    def handlers(self):
        return {self._method: self._obey}

    def tick(self, now_ms):
        if self._made is None:
            return
        self._made.tick(now_ms)
        if self._drop is not None and self._made.is_idle:
            self._made = None
            self._drop()

    def begin_session(self, is_open):
        made = self._made
        if made is not None and hasattr(made, "begin_session"):
            made.begin_session(is_open)

    def _obey(self, arguments, answer):
        if self._made is None:
            self._made = self._make()
        return self._made.handlers()[self._method](arguments, answer)
