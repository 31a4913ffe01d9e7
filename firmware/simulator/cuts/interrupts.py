# Stands in for the interrupts of the simulated board while power cuts are tried: there are none.


class _Step:
    def __enter__(self):
        pass

    def __exit__(self, _kind, _fault, _trace):
        pass


step = _Step()
