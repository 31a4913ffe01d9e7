"""The scripted language model service in a thread, for tests that do not run an event loop."""

from tests.fakes.llm_server import LlmServer, Reply, Respond, running
from tests.fakes.obedient_model import obey
from tests.fakes.serving_thread import ServingThread


class LlmThread(ServingThread[LlmServer]):
    """A model behind `server.base_url`, obedient unless it gives these answers in order.

    `server.requests` is what it was asked.
    """

    def __init__(self, *script: Reply | Respond) -> None:
        super().__init__(running(*(script or (obey,))))

    @property
    def server(self) -> LlmServer:
        return self.served
