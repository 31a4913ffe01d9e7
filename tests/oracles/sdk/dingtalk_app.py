"""What dingtalk-stream does at a pretended DingTalk, and what it reads there."""

import asyncio
import os
from typing import Any

import requests

# Its client knows no other address of the older API
_OLDER = "https://oapi.dingtalk.com"


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    # It is read when the library is loaded
    os.environ["DINGTALK_OPENAPI_ENDPOINT"] = talk["url"]
    post = requests.post
    requests.post = lambda url, **more: post(url.replace(_OLDER, talk["url"]), **more)
    loop = asyncio.new_event_loop()
    # Its loop swallows being cancelled: it ends with the process
    return loop.run_until_complete(asyncio.wait_for(_live(talk), 40))


async def _live(talk: dict[str, Any]) -> dict[str, Any]:
    import dingtalk_stream as dingtalk  # noqa: PLC0415 - it reads the environment when loaded

    told: dict[str, Any] = {"messages": [], "system": []}
    over = asyncio.Event()

    class System(dingtalk.SystemHandler):
        async def process(self, message: Any) -> tuple[int, str]:
            told["system"].append([message.headers.topic, message.data])
            return await super().process(message)

    class Robot(dingtalk.ChatbotHandler):
        async def process(self, callback: Any) -> tuple[int, str]:
            message = dingtalk.ChatbotMessage.from_dict(callback.data)
            told["messages"].append(_read(message))
            words = "".join(message.get_text_list())
            if words == "act":
                self._act(message)
            elif words == "leave":
                over.set()
            return dingtalk.AckMessage.STATUS_OK, "OK"

        def _act(self, message: Any) -> None:
            told["said"] = [
                self.reply_text(talk["text"], message),
                self.reply_markdown(talk["title"], talk["marked"], message),
            ]
            address = self.get_image_download_url(talk["code"])
            told["file"] = requests.get(address, timeout=10).content.hex()
            content = bytes.fromhex(talk["file"])
            named = ("file", "report.pdf", "application/pdf")
            told["media"] = client.upload_to_dingtalk(content, *named)

    client = dingtalk.DingTalkStreamClient(dingtalk.Credential(talk["id"], talk["secret"]))
    client.system_handler = System()
    client.register_callback_handler(dingtalk.ChatbotMessage.TOPIC, Robot())
    running = asyncio.ensure_future(client.start())
    await over.wait()
    # Its last acknowledgement is under way
    await asyncio.sleep(0.2)
    assert not running.done()
    return told


def _read(message: Any) -> list[Any]:
    return [
        message.message_id,
        message.conversation_id,
        message.conversation_type,
        message.sender_staff_id,
        message.sender_id,
        message.is_in_at_list,
        [user.dingtalk_id for user in message.at_users],
        message.session_webhook,
        message.session_webhook_expired_time,
        message.robot_code,
        message.get_text_list(),
        message.get_image_list(),
    ]
