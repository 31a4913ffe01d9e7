"""The Bot API's methods, with the refusals of the documentation and of its server's source."""

from collections.abc import Callable
from typing import Any

from tests.fakes.telegram_entities import NotParsed, parse, units
from tests.fakes.telegram_world import Json, World

MAX_TEXT_UNITS = 4096
MAX_CAPTION_UNITS = 1024
MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024
MAX_UPLOAD_BYTES = 50 * 1024 * 1024
MAX_PHOTO_BYTES = 10 * 1024 * 1024
# The free ones of ReactionTypeEmoji that a test may meet
REACTIONS = frozenset("👍👎🔥🎉😢👀👌🤔💔😁")
SAME = (
    "Bad Request: message is not modified: specified new message content and reply markup are "
    "exactly the same as a current content and reply markup of the message"
)


class Refused(Exception):
    """An answer that is not ok."""

    def __init__(self, code: int, description: str, **parameters: object) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


class Methods:
    """What can be called, but for `getUpdates`."""

    def __init__(self, world: World, *, has_drafts: bool = True) -> None:
        self.world = world
        self.has_drafts = has_drafts
        self._known: dict[str, Callable[[Json], Any]] = {
            "getme": lambda _: world.bot | {"can_join_groups": True},
            "getwebhookinfo": lambda _: {"url": world.webhook, "pending_update_count": 0},
            "setmycommands": self._set_my_commands,
            "sendmessage": self._send_message,
            "sendmessagedraft": self._send_message_draft,
            "editmessagetext": self._edit_message_text,
            "sendchataction": self._send_chat_action,
            "setmessagereaction": self._set_message_reaction,
            "answercallbackquery": self._answer_callback_query,
            "getfile": self._get_file,
            **{f"send{kind}": self._sends(kind) for kind in ("photo", "document", "voice")},
            **{f"send{kind}": self._sends(kind) for kind in ("audio", "video")},
        }

    def call(self, name: str, parameters: Json) -> Any:
        method = self._known.get(name.lower())
        if method is None or (name.lower() == "sendmessagedraft" and not self.has_drafts):
            raise Refused(404, "Not Found: method not found")
        return method(parameters)

    def _set_my_commands(self, asked: Json) -> bool:
        for command in asked["commands"]:
            name, words = command["command"], command["description"]
            if not name.isascii() or name != name.lower() or not 1 <= len(name) <= 32:
                raise Refused(400, "Bad Request: BOT_COMMAND_INVALID")
            if not 1 <= len(words) <= 256:
                raise Refused(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        language = asked.get("language_code", "")
        if language and not (len(language) == 2 and language.isalpha() and language.islower()):
            raise Refused(400, "Bad Request: LANGUAGE_CODE_INVALID")
        self.world.commands[language] = asked["commands"]
        return True

    def _send_message(self, asked: Json) -> Json:
        chat = self._chat(asked)
        content = self._text(asked, MAX_TEXT_UNITS)
        if markup := asked.get("reply_markup"):
            _check_buttons(markup)
            content["reply_markup"] = markup
        if (answered := asked.get("reply_parameters")) is not None:
            if (chat, answered["message_id"]) not in self.world.messages:
                if not answered.get("allow_sending_without_reply"):
                    raise Refused(400, "Bad Request: message to be replied not found")
            else:
                replied = self.world.messages[chat, answered["message_id"]]
                # One level: what was answered to is told without what it answered to
                content["reply_to_message"] = _without(replied, "reply_to_message")
        return self.world.post(chat, content | _topic(asked))

    def _send_message_draft(self, asked: Json) -> bool:
        chat = self._chat(asked)
        if chat < 0:
            raise Refused(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
        if not isinstance(asked.get("draft_id"), int) or asked["draft_id"] == 0:
            raise Refused(400, "Bad Request: RANDOM_ID_INVALID")
        content = self._text({**asked, "text": asked["text"] or "…"}, MAX_TEXT_UNITS)
        self.world.drafts.append({"chat": chat, "draft_id": asked["draft_id"], **content})
        return True

    def _edit_message_text(self, asked: Json) -> Json:
        chat = self._chat(asked)
        message = self.world.messages.get((chat, asked.get("message_id", 0)))
        if message is None:
            raise Refused(400, "Bad Request: message to edit not found")
        if not message["from"]["is_bot"]:
            raise Refused(400, "Bad Request: message can't be edited")
        content = self._text(asked, MAX_TEXT_UNITS)
        before = (message["text"], message["entities"], message.get("reply_markup"))
        if before == (content["text"], content["entities"], asked.get("reply_markup")):
            raise Refused(400, SAME)
        message.pop("reply_markup", None)
        message.update(content)
        self.world.edits.append(dict(message))
        return message

    def _send_chat_action(self, asked: Json) -> bool:
        self.world.actions.append({"chat": self._chat(asked), **asked})
        return True

    def _set_message_reaction(self, asked: Json) -> bool:
        chat = self._chat(asked)
        if chat in self.world.without_reactions or len(asked["reaction"]) > 1:
            raise Refused(400, "Bad Request: REACTION_INVALID")
        if any(one["emoji"] not in REACTIONS for one in asked["reaction"]):
            raise Refused(400, "Bad Request: REACTION_INVALID")
        if (chat, asked["message_id"]) not in self.world.messages:
            raise Refused(400, "Bad Request: message to react not found")
        self.world.reactions.append(asked)
        return True

    def _answer_callback_query(self, asked: Json) -> bool:
        self.world.answered_callbacks.append(asked)
        return True

    def _get_file(self, asked: Json) -> Json:
        content = self.world.files.get(asked["file_id"])
        if content is None:
            raise Refused(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if len(content) > MAX_DOWNLOAD_BYTES:
            raise Refused(400, "Bad Request: file is too big")
        told = {"file_id": asked["file_id"], "file_unique_id": "u", "file_size": len(content)}
        return told | {"file_path": f"documents/{asked['file_id']}"}

    def _sends(self, kind: str) -> Callable[[Json], Json]:
        def send(asked: Json) -> Json:
            chat = self._chat(asked)
            file = asked.get(kind)
            if not isinstance(file, Upload) or not file.content:
                raise Refused(400, "Bad Request: there is no file in the request")
            most = MAX_PHOTO_BYTES if kind == "photo" else MAX_UPLOAD_BYTES
            if len(file.content) > most:
                raise Refused(413, "Request Entity Too Large")
            if kind == "photo" and not file.content.startswith((b"\x89PNG", b"\xff\xd8")):
                raise Refused(400, "Bad Request: IMAGE_PROCESS_FAILED")
            told = self.world.keep(file.content, f"sent{len(self.world.sent)}")
            sides = {"width": 8, "height": 8, "duration": 1}
            shown = [told | sides] if kind == "photo" else told | sides | {"file_name": file.name}
            return self.world.post(chat, {kind: shown} | _topic(asked))

        return send

    def _chat(self, asked: Json) -> int:
        chat = asked.get("chat_id")
        chat = int(chat) if isinstance(chat, str) and chat.lstrip("-").isdigit() else chat
        if not self.world.is_known(chat):
            raise Refused(400, "Bad Request: chat not found")
        assert isinstance(chat, int)
        if chat in self.world.blocked:
            raise Refused(403, "Forbidden: bot was blocked by the user")
        if (moved := self.world.moved.get(chat)) is not None:
            text = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refused(400, text, migrate_to_chat_id=moved)
        if int(asked.get("message_thread_id", 0)) in self.world.closed_topics:
            raise Refused(400, "Bad Request: message thread not found")
        return chat

    def _text(self, asked: Json, most: int) -> Json:
        text, entities = str(asked.get("text", "")), []
        if asked.get("parse_mode") == "HTML":
            try:
                text, entities = parse(text)
            except NotParsed as err:
                raise Refused(400, f"Bad Request: can't parse entities: {err}") from err
        text = text.strip()
        if not text:
            raise Refused(400, "Bad Request: message text is empty")
        if units(text) > most:
            raise Refused(400, "Bad Request: message is too long")
        return {"text": text, "entities": entities}


class Upload:
    """A file of a form."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content


def _without(message: Json, name: str) -> Json:
    return {key: value for key, value in message.items() if key != name}


def _topic(asked: Json) -> Json:
    if "message_thread_id" not in asked:
        return {}
    return {"message_thread_id": int(asked["message_thread_id"]), "is_topic_message": True}


def _check_buttons(markup: Json) -> None:
    for row in markup["inline_keyboard"]:
        for button in row:
            if not 1 <= len(button["callback_data"].encode()) <= 64:
                raise Refused(400, "Bad Request: BUTTON_DATA_INVALID")
