"""Files of Slack messages."""

from collections.abc import Callable
from functools import partial

from agent.channels.context import ChannelContext
from agent.channels.file_stream import downloaded
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.received_files import too_large
from agent.channels.slack.client import SlackApi
from agent.channels.slack.events import MAX_FILES, SlackEvent, SlackFile
from agent.messages import Attachment, Inbound
from agent.text.printable import printable_line

# All files of a message; until then what comes after it waits
FETCH_TIMEOUT_S = 20.0
MAX_KIND_CHARS = 100
_PAGE = "text/html"
_KINDS = {"image": "a picture", "audio": "a piece of music", "video": "a video"}


class SlackFiles:
    """Fetcher of one app's files.

    Args:
        beat: says that the platform was heard.
    """

    def __init__(self, api: SlackApi, place: ChannelContext, beat: Callable[[], None]) -> None:
        self._api = api
        self._place = place
        self._beat = beat
        self._files = IncomingFiles(place.recogniser, beat, FETCH_TIMEOUT_S)

    async def with_files(self, inbound: Inbound, event: SlackEvent) -> Inbound:
        """Return the message with its files, and a line for each that failed."""
        files = event.files[:MAX_FILES]
        if not files:
            return inbound
        if self._place.knows(inbound):
            return await self._files.added_to(inbound, [self._coming(file) for file in files])
        # A stranger fills no disk
        return unfetched(inbound, map(called, files))

    def _coming(self, file: SlackFile) -> IncomingFile:
        return IncomingFile(called(file), partial(self._fetch, file), is_speech(file))

    async def _fetch(self, file: SlackFile) -> Attachment | str:
        if reason := too_large(file.size):
            return reason
        url = file.url_private_download or file.url_private
        if file.mode in {"external", "tombstone", "hidden_by_limit"} or not url:
            return "Slack does not keep it"
        kind = printable_line(file.mimetype, MAX_KIND_CHARS) or "application/octet-stream"
        async with self._api.download(url) as answer:
            # Who lacks the right is shown the page where people sign in
            if answer.header("content-type").startswith(_PAGE) and not kind.startswith(_PAGE):
                return "the app lacks the right files:read"
            return await self._place.keeping.keep(
                downloaded(answer, self._beat), kind, file.name or ""
            )


def is_speech(file: SlackFile) -> bool:
    """Return true if the file was spoken into Slack."""
    return file.subtype == "slack_audio"


def called(file: SlackFile) -> str:
    """Return the file's name for a person."""
    if is_speech(file):
        return "a voice message"
    return _KINDS.get(file.mimetype.partition("/")[0], "a file")
