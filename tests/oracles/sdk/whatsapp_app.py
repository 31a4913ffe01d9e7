"""What pywa takes for true of what a pretended WhatsApp posts, and what it sends there."""

from typing import Any
from urllib.parse import urlsplit

import httpx
from posted import Program
from pywa import WhatsApp, errors
from pywa.types import Button, CallbackButton, Message, MessageStatus


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    app = _App(talk)
    program = Program(talk["port"], app.post, app.challenged)
    app.over = program.over.set
    program.run()
    if app.failure is not None:
        raise app.failure
    return app.told


class _Here(httpx.HTTPTransport):
    """The platform's address is written into the library."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._place = urlsplit(url)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        place = {"scheme": "http", "host": self._place.hostname, "port": self._place.port}
        request.url = request.url.copy_with(**place)
        return super().handle_request(request)


class _App:
    def __init__(self, talk: dict[str, Any]) -> None:
        self._talk = talk
        self.over = lambda: None
        self.failure: Exception | None = None
        self.told: dict[str, Any] = {"texts": [], "pressed": [], "failed": [], "refused": []}
        self.told |= {"files": [], "forged": 0}
        self._client = WhatsApp(
            phone_id=talk["number"],
            token=talk["token"],
            session=httpx.Client(transport=_Here(talk["url"])),
            server=None,
            app_secret=talk["secret"],
            verify_token=talk["verify"],
            api_version=talk["version"],
        )
        self._client.on_message(self._hear)
        self._client.on_callback_button(self._pressed)
        self._client.on_message_status(self._failed)

    def challenged(self, query: dict[str, str]) -> tuple[int, str]:
        given, challenge = query["hub.verify_token"], query["hub.challenge"]
        text, status = self._client.webhook_challenge_handler(given, challenge)
        return status, text or ""

    def post(self, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        signature = headers.get("x-hub-signature-256")
        if error := self._client.webhook_update_validator(body, signature):
            self.told["forged"] += 1
            return error[1], error[0]
        text, status = self._client.webhook_update_handler(body)
        return status, text

    def _hear(self, client: WhatsApp, message: Message) -> None:
        """Where it fails the library only writes that down."""
        try:
            self._take(client, message)
        except Exception as err:  # noqa: BLE001 - whoever waits for it is told
            self.failure = err
            self.over()

    def _take(self, client: WhatsApp, message: Message) -> None:
        who = message.from_user
        text = message.text or (message.document.caption if message.document else None)
        self.told["texts"].append([text, who.wa_id, who.name, message.type.value])
        if message.document:
            url = client.get_media_url(message.document.id).url
            self.told["files"].append(client.get_media_bytes(url).hex())
        if message.text == "act":
            self._act(client, message)
        if message.text == "leave":
            self.over()

    def _act(self, client: WhatsApp, message: Message) -> None:
        to = message.from_user.wa_id
        client.indicate_typing(message.id)
        client.send_reaction(to, "👀", message.id)
        client.send_message(to, self._talk["text"])
        content = bytes.fromhex(self._talk["file"])
        client.send_document(to, content, filename="report.pdf", mime_type="application/pdf")
        buttons = [Button(title, known) for title, known in self._talk["buttons"]]
        client.send_message(to, self._talk["question"], buttons=buttons)
        for code in self._talk["codes"]:
            try:
                client.send_message(to, f"refuse with {code}")
            except errors.WhatsAppError as err:
                self.told["refused"].append([type(err).__name__, err.code])

    def _pressed(self, _client: WhatsApp, pressed: CallbackButton[str]) -> None:
        self.told["pressed"].append([pressed.data, pressed.title, pressed.from_user.wa_id])

    def _failed(self, _client: WhatsApp, status: MessageStatus) -> None:
        code = status.error.code if status.error else None
        self.told["failed"].append([status.status.value, code])
