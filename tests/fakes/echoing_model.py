"""A pretended model that says what it was told, or nothing for as long as it is held."""

from tests.fakes.llm_server import Json, Reply, streamed


class EchoingModel:
    """`respond` is what a server of `llm_server` answers by."""

    def __init__(self) -> None:
        self.holds = False
        self._asked: list[str] = []

    def respond(self, request: Json) -> Reply:
        said = _last_words(request)
        self._asked.append(said)
        return Reply(stalls=True) if self.holds else streamed(f"echo: {said}")

    def is_asked(self, text: str) -> bool:
        return text in self._asked


def _last_words(request: Json) -> str:
    """The person's own, without what the agent puts around them."""
    messages = request["messages"]
    assert isinstance(messages, list)
    content = next(one["content"] for one in reversed(messages) if one["role"] == "user")
    text = content if isinstance(content, str) else content[-1]["text"]
    return str(text).rstrip().rpartition("\n")[2]
