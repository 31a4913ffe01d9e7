"""The pretended signal-cli daemon in a thread, for tests that do not run an event loop."""

from tests.fakes.serving_thread import ServingThread
from tests.fakes.signal_daemon import SignalDaemon, running


class SignalThread(ServingThread[SignalDaemon]):
    """A daemon at `daemon.url`."""

    def __init__(self, daemon: SignalDaemon) -> None:
        super().__init__(running(daemon))
        self.daemon = daemon
