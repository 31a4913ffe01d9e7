# Where firmware/node/store.py keeps a text on a board whose flash is all file system.


class Files:
    # The two places of a text as files.

    def __init__(self, name):
        self._names = (name + "_a.bin", name + "_b.bin")

    def next(self, newest):
        return 1 if newest == 0 else 0

    def read(self, at, start, size):
        # None when there is none. One without content was being written when the power failed, and
        # reads as if it were erased
        try:
            with open(self._names[at], "rb") as file:
                file.seek(start)
                found = file.read(size)
                return found if any(found) else b"\xff" * size
        except OSError:
            return None

    def write(self, at, head, text):
        with open(self._names[at], "wb") as file:
            file.write(head)
            file.write(text)
