"""Sender of answers to Slack: draft, text, files.

A file whose acknowledgement was lost on the way is sent again.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.drafts import AnswerDraft, Drafts
from agent.channels.slack.client import SlackApi, SlackRefused
from agent.channels.slack.inbound import is_ts
from agent.channels.slack.markup import QUIET, first_part, shown
from agent.channels.slack.posts import SlackAnswerPoster, draft_number, numbered
from agent.errors import ChannelUnavailable
from agent.messages import Attachment, Outbound
from agent.system.clock import Clock

_log = logging.getLogger(__name__)

# About fifty changes a minute are taken, of all channels together
INTERVAL_S = 1.2
# Slack takes a GB; what is larger than this is better fetched from the device
MAX_FILE_BYTES = 50 * 1024 * 1024


class SlackDrafts(Drafts):
    """Drafts as messages that are edited."""

    names_once = True

    def __init__(
        self, api: SlackApi, posting: SlackAnswerPoster, folder: Path, clock: Clock
    ) -> None:
        super().__init__(folder, clock)
        self._api = api
        self._posting = posting
        # Until when nothing is shown: Slack wanted to be left alone
        self._silent_until_s = 0.0

    def _interval_s(self, draft: AnswerDraft) -> float:
        return INTERVAL_S

    def _silence_s(self, draft: AnswerDraft) -> float:
        return max(self._silent_until_s - self._clock.monotonic_s(), 0.0)

    async def _named(self, message: Outbound) -> str:
        answer = (message.recipient, message.thread, message.in_reply_to)
        return await self._posting.found(answer, draft_number(answer))

    async def _put(self, draft: AnswerDraft, text: str) -> None:
        inbound = draft.inbound
        answer = (inbound.reply_target, inbound.thread, inbound.message_id)
        place = {"channel": draft.inbound.reply_target}
        body = {**place, "text": shown(first_part(text)), **QUIET}
        number = draft_number(answer)
        try:
            if draft.is_left and not draft.message_id:
                draft.message_id = await self._posting.found(answer, number)
            if draft.message_id:
                await self._api.call("chat.update", {**body, "ts": draft.message_id})
            else:
                named = in_thread(inbound.thread) | numbered(number)
                told = await self._api.call("chat.postMessage", body | named)
                draft.message_id = _ts_in(told)
        except ChannelUnavailable as err:
            draft.is_left = True
            # The next one may come through
            _log.info("slack: draft not shown (reason=%s)", err)
            self._silent_until_s = self._clock.monotonic_s() + (err.retry_after_s or 0.0)


class SlackSender:
    """Sender of messages, in the order of the calls."""

    def __init__(self, api: SlackApi, drafts: SlackDrafts, posting: SlackAnswerPoster) -> None:
        self._api = api
        self._posting = posting
        self._drafts = drafts
        self._unfinished = DeliverySteps()

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def _say(self, message: Outbound) -> None:
        body = {"channel": message.recipient, "text": shown(message.text), **QUIET}
        draft = await self._drafts.end(message) if message.part == 0 else ""
        if not (draft and await self._became(body, draft)):
            await self._posting.post(message, body | in_thread(message.thread))
        if message.part == 0:
            self._drafts.forget(message)

    async def _became(self, body: dict[str, object], draft: str) -> bool:
        """Turn the draft into the answer; return true if done."""
        try:
            await self._api.call("chat.update", {**body, "ts": draft})
        except SlackRefused as err:
            # Somebody deleted it: the answer comes as a message
            _log.info("slack: draft not turned into the answer (reason=%s)", err)
            return False
        return True

    async def _give(self, message: Outbound, file: Attachment) -> None:
        trouble = unsendable(file, MAX_FILE_BYTES, "are sent to Slack")
        if trouble:
            body = {"channel": message.recipient, "text": shown(trouble), **QUIET}
            await self._api.call("chat.postMessage", body | in_thread(message.thread))
            return
        path = Path(file.path)
        size = (await asyncio.to_thread(path.stat)).st_size
        named = {"filename": file.name or path.name, "length": str(size)}
        told = await self._api.ask("files.getUploadURLExternal", named)
        url, known = told.get("upload_url"), told.get("file_id")
        if not isinstance(url, str) or not isinstance(known, str):
            raise ChannelUnavailable("Slack gave no address for a file upload")
        await self._api.upload(url, path, size)
        whole = {"files": [{"id": known, "title": named["filename"]}]}
        place = {"channel_id": message.recipient} | in_thread(message.thread)
        await self._api.call("files.completeUploadExternal", whole | place)


def in_thread(thread: str | None) -> dict[str, object]:
    """Return the field that puts a message beneath another."""
    return {"thread_ts": thread} if thread else {}


def _ts_in(told: Mapping[str, object]) -> str:
    ts = told.get("ts")
    return ts if isinstance(ts, str) and is_ts(ts) else ""
