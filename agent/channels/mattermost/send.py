"""Sender of answers to Mattermost: draft, text, files.

Mattermost shows Markdown as it is written; what would call everybody, or show a picture from
anywhere, is taken apart.
"""

import hashlib
import logging
import re
from pathlib import Path

from agent.channels.approvals import question_text
from agent.channels.base import Question
from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.drafts import AnswerDraft, Drafts
from agent.channels.mattermost.client import MattermostApi, MattermostRefused, known_id
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Outbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# What a server takes in one post
MAX_CHARS = 16_383
# Of the words alone, so that there is room for marks; where it is too little they are left out
MAX_PLAIN_CHARS = 12_000
# Servers that limit requests take ten in a second of everybody on an address
INTERVAL_S = 1.5
# What servers take of one file unless they are told otherwise is 100 MB, and was 50
MAX_FILE_BYTES = 50 * 1024 * 1024
_ID_CHARS = 26
_TOO_LARGE = 413
_EVERYBODY = re.compile(r"@(?=(?:all|channel|here)\b)", re.IGNORECASE)


class MattermostDrafts(Drafts):
    """Drafts as posts that are edited."""

    names_once = True

    def __init__(self, api: MattermostApi, folder: Path, clock: Clock) -> None:
        super().__init__(folder, clock)
        self._api = api

    def _interval_s(self, draft: AnswerDraft) -> float:
        return INTERVAL_S

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        inbound = draft.inbound
        message = shown(parts(text[: 2 * MAX_PLAIN_CHARS])[0])
        try:
            if draft.message_id:
                await self._api.call("PUT", _patched(draft.message_id), {"message": message})
            else:
                place = _place(inbound.reply_target, inbound.thread)
                known = _known_as("draft", inbound.reply_target, inbound.message_id)
                told = await self._api.call(
                    "POST", "/posts", {**place, "message": message, **known}
                )
                draft.message_id = _id_in(told)
        except ChannelUnavailable as err:
            # The next one may come through
            _log.info("mattermost: draft not shown (reason=%s)", err)

    async def _named(self, message: Outbound) -> str:
        known = _known_as("draft", message.recipient, message.in_reply_to)
        told = {**_place(message.recipient, message.thread), "message": shown(message.text)}
        return _id_in(await self._api.call("POST", "/posts", {**told, **known}))


class MattermostSender:
    """Sender of messages, in the order of the calls."""

    def __init__(self, api: MattermostApi, drafts: MattermostDrafts) -> None:
        self._api = api
        self._drafts = drafts
        self._unfinished = DeliverySteps()

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def question(self, message: Outbound, question: Question) -> None:
        """Send a question that shows the call character by character."""
        text = literal(question_text(question))
        if len(text) > MAX_CHARS:
            raise MessageRefused("the question is too long for Mattermost")
        await self._post(message, text)

    async def _say(self, message: Outbound) -> None:
        text = shown(message.text)
        if message.part == 0 and (draft := await self._drafts.end(message)):
            try:
                await self._api.call("PUT", _patched(draft), {"message": text})
            except MattermostRefused as err:
                # Somebody deleted it: the answer comes as a post
                _log.info("mattermost: draft not turned into the answer (reason=%s)", err)
                await self._post(message, text)
        else:
            await self._post(message, text)
        if message.part == 0:
            self._drafts.forget(message)

    async def _post(self, message: Outbound, text: str, *file_ids: str) -> None:
        place = _place(message.recipient, message.thread)
        told = {**place, "message": text, "file_ids": [*file_ids]}
        await self._api.call("POST", "/posts", {**told, **_numbered(message, text, *file_ids)})

    async def _give(self, message: Outbound, file: Attachment) -> None:
        trouble = unsendable(file, MAX_FILE_BYTES, "Mattermost takes")
        if not trouble:
            try:
                told = await self._api.upload(known_id(message.recipient), file)
            except MattermostRefused as err:
                if err.status != _TOO_LARGE:
                    raise
                trouble = f"({file.name or 'The file'} is larger than Mattermost takes here.)"
            else:
                await self._post(message, "", _file_in(told))
        if trouble:
            await self._post(message, trouble)


def parts(markdown: str) -> tuple[str, ...]:
    """Split the text into posts."""
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs it

    return split(markdown, MAX_PLAIN_CHARS, len)


def shown(markdown: str) -> str:
    """Return the text of a post."""
    from agent.channels.render.plain import to_plain  # noqa: PLC0415 - no start needs it

    text = _quiet(markdown)
    return text if len(text) <= MAX_CHARS else _quiet(to_plain(markdown))[:MAX_CHARS]


def literal(text: str) -> str:
    """Return a text that is shown character by character."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _quiet(markdown: str) -> str:
    """A picture is asked for by whoever reads: its address would tell what was read."""
    return _EVERYBODY.sub("@\u200b", markdown).replace("![", "! [")


def _place(target: str, thread: str | None) -> dict[str, object]:
    return {"channel_id": target, "root_id": thread or ""}


def _numbered(message: Outbound, *content: str) -> dict[str, object]:
    """Return the same id for the same words, which a server accepts once for a while."""
    if message.outbox_id <= 0:
        return {}
    return _known_as(str(message.outbox_id), str(message.part), *content)


def _known_as(*told: str) -> dict[str, object]:
    number = hashlib.sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()
    return {"pending_post_id": number[:_ID_CHARS]}


def _patched(post_id: str) -> str:
    return f"/posts/{known_id(post_id)}/patch"


def _id_in(told: object) -> str:
    post_id = told.get("id") if isinstance(told, dict) else None
    return known_id(post_id) if isinstance(post_id, str) else ""


def _file_in(told: object) -> str:
    infos = told.get("file_infos") if isinstance(told, dict) else None
    first = infos[0] if isinstance(infos, list) and infos else None
    file_id = first.get("id") if isinstance(first, dict) else None
    if not isinstance(file_id, str):
        raise ChannelUnavailable("Mattermost gave no id for the uploaded file")
    return known_id(file_id)
