"""Sender of answers, files and questions to DingTalk.

For a while a message can be answered at an address of its own, which costs the organisation
nothing. Afterwards, after a restart, and for files it is the robot that writes.
"""

import asyncio
import contextlib
import json
import logging
import os
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import IO

from msgspec.structs import replace

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals, question_text
from agent.channels.base import Answer, Question
from agent.channels.delivery_steps import DeliverySteps, unsendable
from agent.channels.dingtalk import markup
from agent.channels.dingtalk.client import DingTalkApi
from agent.channels.dingtalk.errors import CALLS_RETRY_S, DingTalkRefused
from agent.channels.dingtalk.events import GROUP, PERSON
from agent.channels.dingtalk.markup import DingTalkText
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Address, Attachment, Outbound
from agent.system.clock import Clock

# The platform goes by the end of a name
_PICTURES = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/bmp": "bmp"}
_TAKEN = frozenset({"doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "pdf", "rar"})


@contextlib.asynccontextmanager
async def sendable(file: Attachment, folder: Path) -> AsyncIterator[Attachment]:
    """Return the file, or a temporary ZIP with it inside.

    Raises:
        OSError: it cannot be read or packed.
    """
    name = _name(file)
    if ending := _PICTURES.get(file.media_type):
        yield replace(
            file, name=name if _ending(file) in _PICTURES.values() else f"{name}.{ending}"
        )
        return
    if _ending(file) in _TAKEN:
        yield file
        return
    with await asyncio.to_thread(_packed, file, name, folder) as packed:
        # It has no name in the folder: whatever happens, nothing of it stays there
        path = f"/proc/self/fd/{packed.fileno()}"
        size = os.fstat(packed.fileno()).st_size
        yield Attachment(path, "application/zip", f"{name}.zip", size)


def kind_of(file: Attachment) -> str:
    """Return the platform's word for the kind of file."""
    return "image" if file.media_type in _PICTURES else "file"


def template(file: Attachment, media: str) -> tuple[str, dict[str, str]]:
    """Return the name and fields of the template that shows an uploaded file."""
    if kind_of(file) == "image":
        return "sampleImageMsg", {"photoURL": media}
    told = {"mediaId": media, "fileName": _name(file), "fileType": _ending(file)}
    return "sampleFile", told


def _packed(file: Attachment, name: str, folder: Path) -> IO[bytes]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - whoever sends it closes it
    try:
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(file.path, name)
    except BaseException:
        made.close()
        raise
    return made


def _name(file: Attachment) -> str:
    return PurePosixPath(file.name or file.path).name or "file"


def _ending(file: Attachment) -> str:
    return PurePosixPath(_name(file)).suffix.removeprefix(".").lower()


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


class SessionWebhooks:
    """Session webhooks by target; everybody who knows one may write there."""

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
        """Return the webhook of a target; empty if it has expired."""
        hook, until_s = self._known.get(target, ("", 0.0))
        return hook if self._clock.monotonic_s() < until_s else ""

    def forget(self, target: str) -> None:
        self._known.pop(target, None)


class DingTalkSender:
    """Sender for one app.

    Args:
        folder: for what is packed while it is sent.
    """

    def __init__(
        self, api: DingTalkApi, hooks: SessionWebhooks, questions: OpenApprovals, folder: Path
    ) -> None:
        self._api = api
        self._hooks = hooks
        self._questions = questions
        self._folder = folder
        self._unfinished = DeliverySteps()

    async def send(self, message: Outbound) -> None:
        """Return when the platform has all of it.

        Raises:
            ChannelError: it has not.
        """
        await self._unfinished.go_on(message, self._say, self._give)

    async def ask(self, address: Address, question: Question) -> Answer:
        """Ask, and wait for the answer until cancelled.

        Raises:
            ChannelError: the question could not be put.
        """
        # Every sign of it as it is: nothing in it is Markdown
        put_so = DingTalkText(question_text(question))
        if not put_so.is_short_enough:
            return Answer.NONE

        async def put(message: Outbound) -> None:
            await self._put(message.recipient, put_so)

        return await approvals.ask(self._questions, address, question, put)

    async def _say(self, message: Outbound) -> None:
        await self._put(message.recipient, markup.shown(message.text))

    async def _put(self, target: str, said: DingTalkText) -> None:
        if hook := self._hooks.find(target):
            try:
                await self._api.answer(hook, said.hooked)
            except (DingTalkRefused, ChannelRefused):
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
                async with sendable(file, self._folder) as packed:
                    trouble = await self._give_packed(message, packed)
            except OSError as err:
                raise MessageRefused(f"cannot read the file: {err.strerror}") from err
        if trouble:
            await self._put(message.recipient, DingTalkText(trouble))

    async def _give_packed(self, message: Outbound, file: Attachment) -> str:
        """Send a file as a ZIP archive; return why it failed, empty on success."""
        if trouble := unsendable(file, MAX_FILE_BYTES, _MOST):
            return trouble
        try:
            media = await self._api.upload(kind_of(file), file)
        except DingTalkRefused as err:
            _log.warning("dingtalk: file refused (reason=%s)", err)
            return f"({file.name or 'The file'} is of a kind that DingTalk does not take.)"
        await self._by_robot(message.recipient, *template(file, media))
        return ""


def _check(told: dict[str, object]) -> None:
    if told.get("flowControlledStaffIdList"):
        raise ChannelUnavailable(
            "DingTalk accepts no more messages for this person for now",
            retry_after_s=CALLS_RETRY_S * 5,
        )
    if told.get("invalidStaffIdList") or told.get("filteredStaffIdList"):
        raise MessageRefused("DingTalk does not let the robot write to this person")
