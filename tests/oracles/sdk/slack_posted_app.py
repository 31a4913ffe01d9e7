"""What slack-sdk takes for true of what a pretended Slack posts, and what it signs itself."""

import json
from typing import Any
from urllib.parse import parse_qs

from posted import Program
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web import WebClient


def ask(talk: dict[str, Any]) -> dict[str, Any]:
    app = _App(talk)
    program = Program(talk["port"], app.post)
    app.over = program.over.set
    program.run()
    return app.told


class _App:
    def __init__(self, talk: dict[str, Any]) -> None:
        self._web = WebClient(token=talk["bot"], base_url=f"{talk['url']}/api/")
        self._verifier = SignatureVerifier(talk["secret"])
        self._draft, self._text = talk["draft"], talk["text"]
        self._has_failed = False
        self.over = lambda: None
        self.told: dict[str, Any] = {"me": self._web.auth_test()["user_id"], "refused": 0}
        self.told |= {"texts": [], "pressed": [], "typed": [], "again": []}
        self.told["signed"] = [
            self._verifier.generate_signature(timestamp=time, body=body)
            for time, body in talk["sign"]
        ]

    def post(self, headers: dict[str, str], body: bytes) -> tuple[int, str]:
        if not self._verifier.is_valid_request(body, headers):
            self.told["refused"] += 1
            return 401, "no signature"
        if "x-slack-retry-num" in headers:
            why = headers["x-slack-retry-reason"]
            self.told["again"].append([headers["x-slack-retry-num"], why])
        if headers["content-type"].startswith("application/x-www-form-urlencoded"):
            return self._form({name: one[0] for name, one in parse_qs(body.decode()).items()})
        return self._event(json.loads(body))

    def _form(self, form: dict[str, str]) -> tuple[int, str]:
        if "payload" in form:
            told = json.loads(form["payload"])
            [action] = told["actions"]
            pressed = [action["value"], told["user"]["id"], told["channel"]["id"]]
            self.told["pressed"].append(pressed)
        else:
            typed = [form["command"], form["text"], form["user_id"], form["channel_id"]]
            self.told["typed"].append([*typed, bool(form["trigger_id"])])
        return 200, ""

    def _event(self, told: dict[str, Any]) -> tuple[int, str]:
        if told["type"] == "url_verification":
            return 200, told["challenge"]
        event = told["event"]
        if event.get("bot_id"):
            return 200, ""
        if event["text"] == "again" and not self._has_failed:
            self._has_failed = True
            return 500, ""
        self.told["texts"].append([told["event_id"], event["text"], event["user"]])
        if event["text"] == "act":
            said = self._web.chat_postMessage(channel=event["channel"], text=self._draft)
            self._web.chat_update(channel=event["channel"], ts=said["ts"], text=self._text)
        if event["text"] == "leave":
            self.over()
        return 200, ""
