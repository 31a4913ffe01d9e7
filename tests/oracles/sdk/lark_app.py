"""What lark-oapi does at a pretended Lark, what it reads there, and the frames that it writes."""

import asyncio
import io
import json
from typing import Any

import lark_oapi as lark
from lark_oapi.api.im.v1 import (
    CreateFileRequest,
    CreateFileRequestBody,
    CreateMessageReactionRequest,
    CreateMessageReactionRequestBody,
    CreateMessageRequest,
    CreateMessageRequestBody,
    Emoji,
    GetMessageResourceRequest,
    P2ImMessageReceiveV1,
    ReplyMessageRequest,
    ReplyMessageRequestBody,
)
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTrigger
from lark_oapi.ws import client as ws
from lark_oapi.ws.pb.pbbp2_pb2 import Frame


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {"frames": [_written(one) for one in talk["frames"]]}
    told["read"] = [_read(bytes.fromhex(one)) for one in talk["ours"]]
    app = _App(talk)
    ws.loop.run_until_complete(asyncio.wait_for(app.live(), 40))
    return told | app.told


def _written(told: dict[str, Any]) -> str:
    frame = Frame()
    frame.SeqID, frame.LogID = told["sequence"], told["log"]
    frame.service, frame.method = told["service"], told["method"]
    for key, value in told["headers"]:
        header = frame.headers.add()
        header.key, header.value = key, value
    if told["payload"] is not None:
        frame.payload = bytes.fromhex(told["payload"])
    for ours, theirs in (("encoding", "payload_encoding"), ("payload_type",) * 2):
        if told[ours] is not None:
            setattr(frame, theirs, told[ours])
    if told["new_log"] is not None:
        frame.LogIDNew = told["new_log"]
    return frame.SerializeToString().hex()


def _read(data: bytes) -> list[Any]:
    frame = Frame()
    frame.ParseFromString(data)
    headers = [[one.key, one.value] for one in frame.headers]
    return [frame.SeqID, frame.LogID, frame.service, frame.method, headers, frame.payload.hex()]


class _App:
    def __init__(self, talk: dict[str, Any]) -> None:
        self._talk = talk
        self._over = asyncio.Event()
        self.told: dict[str, Any] = {"messages": [], "pressed": [], "done": []}
        known = talk["app_id"], talk["secret"]
        self._rest = (
            lark.Client.builder().app_id(known[0]).app_secret(known[1]).domain(talk["url"]).build()
        )
        handler = (
            lark.EventDispatcherHandler.builder("", "")
            .register_p2_im_message_receive_v1(self._heard)
            .register_p2_card_action_trigger(self._pressed)
            .build()
        )
        # It writes where our answer goes
        level = lark.LogLevel.CRITICAL
        self._ears = ws.Client(*known, level, event_handler=handler, domain=talk["url"])

    async def live(self) -> None:
        await self._ears._connect()
        ping = asyncio.ensure_future(self._ears._ping_loop())
        await self._over.wait()
        # Its last acknowledgement is under way
        await asyncio.sleep(0.2)
        ping.cancel()
        self.told["ping_every_s"] = self._ears._ping_interval

    def _heard(self, event: P2ImMessageReceiveV1) -> None:
        message, sender = event.event.message, event.event.sender
        mentions = [[one.key, one.id.open_id, one.name] for one in message.mentions or []]
        told = [message.message_id, message.chat_id, message.chat_type, message.message_type]
        told += [message.thread_id, message.root_id, sender.sender_id.open_id, sender.sender_type]
        self.told["messages"].append([*told, json.loads(message.content), mentions])
        words = json.loads(message.content).get("text")
        if words == "act":
            self._act(message.message_id, message.chat_id)
        elif words == "leave":
            self._over.set()

    def _pressed(self, event: P2CardActionTrigger) -> None:
        told = event.event
        where = told.context.open_chat_id, told.context.open_message_id
        self.told["pressed"].append([told.operator.open_id, *where, told.action.value])

    def _act(self, message_id: str, chat: str) -> None:
        messages = self._rest.im.v1.message
        text = json.dumps({"text": self._talk["content"]})
        reply = ReplyMessageRequestBody.builder().content(text).msg_type("text")
        body = reply.reply_in_thread(reply_in_thread=False).uuid("u-1").build()
        request = ReplyMessageRequest.builder().message_id(message_id).request_body(body).build()
        self._note(messages.reply(request), "message_id")
        file = io.BytesIO(bytes.fromhex(self._talk["file"]))
        sent = CreateFileRequestBody.builder().file_type("stream").file_name("report.pdf")
        made = CreateFileRequest.builder().request_body(sent.file(file).build()).build()
        key = self._note(self._rest.im.v1.file.create(made), "file_key")
        got = GetMessageResourceRequest.builder().message_id(message_id).file_key(key).type("file")
        self.told["file"] = self._rest.im.v1.message_resource.get(got.build()).file.read().hex()
        for kind, content in (
            ("file", json.dumps({"file_key": key})),
            ("interactive", self._talk["card"]),
        ):
            new = CreateMessageRequestBody.builder().receive_id(chat).msg_type(kind)
            create = CreateMessageRequest.builder().receive_id_type("chat_id")
            whole = create.request_body(new.content(content).build()).build()
            self._note(messages.create(whole), "message_id")
        emoji = Emoji.builder().emoji_type("OnIt").build()
        sign = CreateMessageReactionRequestBody.builder().reaction_type(emoji).build()
        react = CreateMessageReactionRequest.builder().message_id(message_id).request_body(sign)
        self._note(self._rest.im.v1.message_reaction.create(react.build()), "reaction_id")

    def _note(self, response: Any, name: str) -> str:
        assert response.success(), (response.code, response.msg)
        told = str(getattr(response.data, name))
        self.told["done"].append(told)
        return told
