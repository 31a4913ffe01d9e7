"""Answers, files and questions into chats.

For a while a message can be answered at an address of its own, which costs the organisation
nothing. Afterwards, after a restart, and for files it is the robot that writes.
"""

import json
import logging
from collections import OrderedDict
from pathlib import Path

from agent.channels import worded
from agent.channels.answers import OpenQuestions, in_words
from agent.channels.base import Answer, Question
from agent.channels.dingtalk import packing, words
from agent.channels.dingtalk.api import DingTalkApi
from agent.channels.dingtalk.events import GROUP, PERSON
from agent.channels.dingtalk.failures import CALLS_RETRY_S, ApiRefused
from agent.channels.dingtalk.words import Words
from agent.channels.outgoing import Unfinished, unsendable
from agent.clock import Clock
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Address, Attachment, Outbound

_log = logging.getLogger(__name__)

# What the platform takes of one file
MAX_FILE_BYTES = 20 * 1024 * 1024
_MOST = "DingTalk takes"
# Chats that were written in of late
MAX_HOOKS = 1000
# An answer that is on its way when it ends comes too late
HOOK_SPARE_S = 30.0
# The platform says about an hour and a half
MAX_HOOK_S = 2 * 3600.0
_ONE_BY_ONE = "/v1.0/robot/oToMessages/batchSend"
_INTO_GROUP = "/v1.0/robot/groupMessages/send"


class Hooks:
    """The addresses that take answers, by where they lead; whoever knows one may write there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def remember(self, target: str, hook: str, lasts_s: float) -> None:
        until_s = self._clock.monotonic_s() + min(lasts_s, MAX_HOOK_S) - HOOK_SPARE_S
        self._known.pop(target, None)
        self._known[target] = (hook, until_s)
        if len(self._known) > MAX_HOOKS:
            self._known.popitem(last=False)

    def find(self, target: str) -> str:
        """Empty where there is none any more."""
        hook, until_s = self._known.get(target, ("", 0.0))
        return hook if self._clock.monotonic_s() < until_s else ""

    def forget(self, target: str) -> None:
        self._known.pop(target, None)


class Sending:
    """Writes for one app.

    Args:
        folder: for what is packed while it is sent.
    """

    def __init__(
        self, api: DingTalkApi, hooks: Hooks, questions: OpenQuestions, folder: Path
    ) -> None:
        self._api = api
        self._hooks = hooks
        self._questions = questions
        self._folder = folder
        self._unfinished = Unfinished()

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def ask(self, address: Address, question: Question) -> Answer:
        """The answer; waits until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        # Every sign of it as it is: nothing in it is Markdown
        put_so = Words(in_words(question))
        if not put_so.is_short_enough:
            return Answer.NONE

        async def put(message: Outbound) -> None:
            await self._put(message.recipient, put_so)

        return await worded.ask(self._questions, address, question, put)

    async def _say(self, message: Outbound) -> None:
        await self._put(message.recipient, words.shown(message.text))

    async def _put(self, target: str, said: Words) -> None:
        if hook := self._hooks.find(target):
            try:
                await self._api.answer(hook, said.hooked)
            except (ApiRefused, ChannelRefused):
                # It has ended before its time; the robot can write all the same
                self._hooks.forget(target)
            else:
                return
        await self._by_robot(target, *said.by_robot)

    async def _by_robot(self, target: str, template: str, filled: dict[str, str]) -> None:
        kind, _, known = target.partition(":")
        told = {
            "robotCode": self._api.client_id,
            "msgKey": template,
            "msgParam": json.dumps(filled, ensure_ascii=False),
        }
        if kind == GROUP:
            await self._api.call(_INTO_GROUP, {**told, "openConversationId": known})
        elif kind == PERSON:
            _check(await self._api.call(_ONE_BY_ONE, {**told, "userIds": [known]}))
        else:
            raise MessageRefused(
                "DingTalk lets the robot write only to people of its own organisation, and only "
                "when a version of the app is published; others it can only answer for a while"
            )

    async def _give(self, message: Outbound, file: Attachment) -> None:
        trouble = unsendable(file, MAX_FILE_BYTES, _MOST)
        if not trouble:
            try:
                async with packing.sendable(file, self._folder) as packed:
                    trouble = await self._give_packed(message, packed)
            except OSError as err:
                raise MessageRefused(f"a file cannot be read: {err.strerror}") from err
        if trouble:
            await self._put(message.recipient, Words(trouble))

    async def _give_packed(self, message: Outbound, file: Attachment) -> str:
        """Send a file as a ZIP archive; return why it failed, empty on success."""
        if trouble := unsendable(file, MAX_FILE_BYTES, _MOST):
            return trouble
        try:
            media = await self._api.upload(packing.kind_of(file), file)
        except ApiRefused as err:
            _log.warning("a file is not taken: %s", err)
            return f"({file.name or 'The file'} is of a kind that DingTalk does not take.)"
        await self._by_robot(message.recipient, *packing.template(file, media))
        return ""


def _check(told: dict[str, object]) -> None:
    if told.get("flowControlledStaffIdList"):
        raise ChannelUnavailable(
            "DingTalk wants nothing for this person now", retry_after_s=CALLS_RETRY_S * 5
        )
    if told.get("invalidStaffIdList") or told.get("filteredStaffIdList"):
        raise MessageRefused("DingTalk does not let the robot write to this person")
