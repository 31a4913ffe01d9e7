"""What slack-sdk does in a pretended workspace of Slack, and what it reads there."""

import asyncio
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import Block
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(_ask(talk))


async def _ask(talk: dict[str, Any]) -> dict[str, Any]:
    web = AsyncWebClient(token=talk["bot"], base_url=f"{talk['url']}/api/")
    client = SocketModeClient(app_token=talk["app"], web_client=web)
    app = _App(talk, web)
    app.told["me"] = (await web.auth_test())["user_id"]
    client.socket_mode_request_listeners.append(app.hear)
    await client.connect()
    await app.over.wait()
    await client.close()
    return app.told


class _App:
    def __init__(self, talk: dict[str, Any], web: AsyncWebClient) -> None:
        self._talk = talk
        self._web = web
        self.over = asyncio.Event()
        self.told: dict[str, Any] = {"texts": [], "pressed": [], "errors": []}

    async def hear(self, client: Any, request: SocketModeRequest) -> None:
        event = request.payload.get("event", {})
        if request.type == "interactive":
            [action] = request.payload["actions"]
            person, place = request.payload["user"]["id"], request.payload["channel"]["id"]
            self.told["pressed"].append([action["value"], person, place])
        elif not event.get("bot_id"):
            self.told["texts"].append([event["text"], event["user"], event["channel"]])
            if event["text"] == "act":
                await self._act(event)
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id))
        if event.get("text") == "leave":
            self.over.set()

    async def _act(self, event: dict[str, Any]) -> None:
        web, channel, ts = self._web, event["channel"], event["ts"]
        said = await web.chat_postMessage(channel=channel, text=self._talk["draft"])
        await web.chat_update(channel=channel, ts=said["ts"], text=self._talk["text"])
        await web.reactions_add(channel=channel, timestamp=ts, name="eyes")
        await self._refused(web.reactions_add(channel=channel, timestamp=ts, name="eyes"))
        await self._refused(web.chat_update(channel=channel, ts="1.000001", text="x"))
        await self._refused(web.chat_postMessage(channel="C0NOWHERE", text="x"))
        content = bytes.fromhex(self._talk["file"])
        named = {"filename": "report.pdf", "title": "report.pdf"}
        await web.files_upload_v2(content=content, channel=channel, **named)
        blocks = Block.parse_all(self._talk["blocks"])
        # It knows the limits of each kind of block, and raises beyond them
        checked = [block.to_dict() for block in blocks]
        self.told["blocks"] = checked
        await web.chat_postMessage(channel=channel, text="May I?", blocks=checked)

    async def _refused(self, call: Any) -> None:
        try:
            await call
        except SlackApiError as err:
            self.told["errors"].append(err.response["error"])
