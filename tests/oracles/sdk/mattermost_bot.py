"""What mattermostautodriver does on a pretended Mattermost server, and what it reads there."""

import asyncio
import json
from collections.abc import Awaitable
from typing import Any
from urllib.parse import urlsplit

from mattermostautodriver import AsyncTypedDriver, exceptions


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(_ask(talk))


async def _ask(talk: dict[str, Any]) -> dict[str, Any]:
    place = urlsplit(talk["url"])
    options = {"scheme": "http", "url": place.hostname, "port": place.port, "token": talk["token"]}
    driver = AsyncTypedDriver({**options, "max_retries": 0})
    bot = _Bot(talk, driver)
    me = await driver.login()
    bot.told["me"] = [me["id"], me["username"]]
    await driver.init_websocket(bot.hear)
    if bot.failure is not None:
        raise bot.failure
    return bot.told


class _Bot:
    def __init__(self, talk: dict[str, Any], driver: Any) -> None:
        self._talk = talk
        self._driver = driver
        self.failure: Exception | None = None
        self.told: dict[str, Any] = {"texts": [], "events": [], "errors": []}

    async def hear(self, message: str) -> None:
        """Where it fails the library only begins again."""
        try:
            await self._hear(message)
        except Exception as err:  # noqa: BLE001 - whoever waits for it is told
            self.failure = err
            self._driver.disconnect()

    async def _hear(self, message: str) -> None:
        event = json.loads(message)
        self.told["events"].append(event.get("event") or event["status"])
        if event.get("event") != "posted":
            return
        post = json.loads(event["data"]["post"])
        if post["user_id"] == self.told["me"][0]:
            return
        kind, name = event["data"]["channel_type"], event["data"]["sender_name"]
        self.told["texts"].append([post["message"], post["user_id"], kind, name])
        if post["message"] == "act":
            await self._act(post)
        if post["message"] == "too often":
            await self._refused(self._driver.posts.create_post(post["channel_id"], "x"))
        if post["message"] == "leave":
            self._driver.disconnect()

    async def _act(self, post: dict[str, Any]) -> None:
        driver, channel, known = self._driver, post["channel_id"], post["id"]
        posts, told = driver.posts, self.told
        await driver.users.publish_user_typing("me", channel, "")
        sign = {"user_id": told["me"][0], "post_id": known, "emoji_name": "eyes"}
        await driver.reactions.save_reaction(sign)
        draft = await posts.create_post(channel, self._talk["draft"])
        await posts.patch_post(draft["id"], message=self._talk["text"])
        await driver.reactions.delete_reaction("me", known, "eyes")
        content = bytes.fromhex(self._talk["file"])
        filed = await driver.files.upload_file(("report.pdf", content), channel)
        [info] = filed["file_infos"]
        await posts.create_post(channel, "", file_ids=[info["id"]])
        told["file"] = (await driver.files.get_file(info["id"])).content.hex()
        rooms = await driver.channels.get_channels_for_user("me")
        told["rooms"] = [[one["id"], one["type"], one["last_post_at"] > 0] for one in rooms]
        since = post["create_at"] - 1
        found = await posts.get_posts_for_channel(channel, since=since)
        told["since"] = [found["posts"][one]["message"] for one in found["order"]]
        await self._refused(posts.patch_post("x" * 26, message="x"))
        await self._refused(posts.create_post("z" * 26, "x"))
        await self._refused(posts.create_post(channel, "x", root_id="y" * 26))
        await self._refused(posts.create_post(channel, "x" * 16_384))

    async def _refused(self, call: Awaitable[Any]) -> None:
        try:
            await call
        except (
            exceptions.ResourceNotFound,
            exceptions.NotEnoughPermissions,
            exceptions.InvalidOrMissingParameters,
            exceptions.TooManyRequests,
        ) as err:
            self.told["errors"].append(type(err).__name__)
