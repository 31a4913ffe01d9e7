"""What discord.py does at a pretended Discord, and what it reads there."""

import asyncio
import io
import traceback
from typing import Any

import discord
import yarl
from discord import app_commands
from discord.gateway import DiscordWebSocket
from discord.http import Route


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(_ask(talk))


async def _ask(talk: dict[str, Any]) -> dict[str, Any]:
    Route.BASE = f"{talk['url']}/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(talk["gateway"])
    intents = discord.Intents.none()
    intents.guilds = intents.guild_messages = intents.dm_messages = True
    # The fake's application has it switched on
    intents.message_content = True
    client = _Client(talk, intents)
    async with client:
        await client.start(talk["token"])
    return client.told


class _Client(discord.Client):
    def __init__(self, talk: dict[str, Any], intents: discord.Intents) -> None:
        super().__init__(intents=intents, allowed_mentions=discord.AllowedMentions.none())
        self._talk = talk
        self.told: dict[str, Any] = {"messages": [], "pressed": [], "resumed": 0, "errors": {}}
        self._tree = app_commands.CommandTree(self)

    async def on_ready(self) -> None:
        assert self.user is not None
        self.told["me"] = [str(self.user.id), str(self.application_id), self.user.bot]
        self.told["guilds"] = [
            [
                str(one.id),
                [str(place.id) for place in one.channels],
                [str(t.id) for t in one.threads],
            ]
            for one in self.guilds
        ]
        for name, words in self._talk["commands"]:
            self._tree.add_command(_command(name, words))
        await self._tree.sync()

    async def on_error(self, event: str, *_args: Any, **_kwargs: Any) -> None:
        self.told["trouble"] = traceback.format_exc()
        await self.close()

    async def on_resumed(self) -> None:
        self.told["resumed"] += 1

    async def on_message(self, message: discord.Message) -> None:
        if message.author == self.user:
            return
        assert self.user is not None
        self.told["messages"].append(_plain(message, self.user))
        if message.content.endswith("act"):
            await self._act(message)
        elif message.content == "leave":
            await self.close()

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        data = interaction.data or {}
        known = str(data.get("custom_id") or data.get("name"))
        self.told["pressed"].append([known, str(interaction.user.id), str(interaction.channel_id)])
        if interaction.type is discord.InteractionType.component:
            await interaction.response.defer()
            assert interaction.message is not None
            over = discord.ui.View()
            over.add_item(discord.ui.Button(label="Approved.", custom_id="over", disabled=True))
            await interaction.message.edit(view=over)
        else:
            await interaction.response.send_message("/help", ephemeral=True)

    async def _act(self, message: discord.Message) -> None:
        place = message.channel
        text = self._talk["content"]
        reference = message.to_reference(fail_if_not_exists=False)
        sent = await place.send(text, reference=reference, suppress_embeds=True, nonce="abcd")
        await sent.edit(content=f"{text}!")
        await place.send("a piece", suppress_embeds=True)
        await message.add_reaction("👀")
        await message.add_reaction("✅")
        await message.remove_reaction("👀", self.user)
        async with place.typing():
            pass
        file = discord.File(io.BytesIO(bytes.fromhex(self._talk["file"])), "report.pdf")
        await place.send(file=file)
        if message.attachments:
            self.told["file"] = (await message.attachments[0].read()).hex()
        await self._refused(place)
        await place.send("Shall I?", view=_View(self._talk["buttons"]))

    async def _refused(self, place: Any) -> None:
        tries = {
            "long": lambda: place.send("x" * 2001),
            "empty": lambda: place.send(""),
            "unknown": lambda: place.get_partial_message(5).edit(content="x"),
            "limited": lambda: place.send("limited"),
        }
        for name, act in tries.items():
            try:
                await act()
                self.told["errors"][name] = []
            except discord.HTTPException as err:
                self.told["errors"][name] = [err.status, err.code, type(err).__name__]


class _View(discord.ui.View):
    def __init__(self, labels: list[list[str]]) -> None:
        super().__init__()
        styles = (discord.ButtonStyle.success, discord.ButtonStyle.danger)
        for (label, known), style in zip(labels, styles, strict=True):
            self.add_item(discord.ui.Button(label=label, custom_id=known, style=style))


def _command(name: str, words: str) -> Any:
    async def run(interaction: discord.Interaction, words: str = "") -> None:
        raise NotImplementedError

    contexts = app_commands.AppCommandContext(guild=True, dm_channel=True)
    return app_commands.Command(
        name=name, description=words, callback=run, allowed_contexts=contexts
    )


def _plain(message: discord.Message, me: Any) -> list[Any]:
    place = message.channel
    parent = str(place.parent_id) if isinstance(place, discord.Thread) else None
    answered = message.reference.message_id if message.reference is not None else None
    return [
        str(message.id),
        message.content,
        str(message.author.id),
        str(place.id),
        parent,
        message.guild is not None,
        me in message.mentions,
        [one.filename for one in message.attachments],
        str(answered) if answered else None,
        message.created_at.timestamp(),
    ]
