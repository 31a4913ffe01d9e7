"""A BlueBubbles server on loopback, written from the source of the real one: a Mac's messages.

The real one is a program for macOS; nothing here was compared with it at work.
"""

import asyncio
import contextlib
import json
import re
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.canaries import secret
from tests.fakes.http_wire import Request, read_request
from tests.fakes.raw_server import serving

PASSWORD = secret("blue bubbles&pass?")
ANNA = "+4915112345678"
DM = f"iMessage;-;{ANNA}"
GROUP = "iMessage;+;chat4711"
_STYLES = {DM: 45, GROUP: 43}
_MAX_LIMIT = 1000
_FIELD = re.compile(
    rb'name="([^"]+)"(?:; filename="([^"]*)")?[^\r]*(?:\r\n[^\r]+)*\r\n\r\n', re.DOTALL
)

Json = dict[str, Any]


@dataclass
class BlueBubblesServer:
    """Serves until the block ends."""

    url: str = ""
    private_api: bool = False
    rows: list[Json] = field(default_factory=list)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    sent_files: list[bytes] = field(default_factory=list)
    # What the next message meets: a status, and how long to be left alone
    fault: tuple[int, float] | None = None
    # The next message is sent, and nobody is told
    loses_receipt: bool = False
    # What Messages says of the next one; 0 sends it
    apple_error: int = 0
    # Every message that was asked for, with its way and the name it was given
    asked: list[Json] = field(default_factory=list)
    # How often a file is not there yet when it is asked for
    late: int = 0
    # Files wait for it
    holds_files: asyncio.Event | None = None
    # Those that are on their way
    queued: set[str] = field(default_factory=set)
    # How often somebody has looked for what is new
    looked: int = 0
    _next_row: int = 1
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    def write(self, text: str, chat: str = DM, **more: Any) -> Json:
        """As Anna does, or the account itself; the row."""
        handle = {"originalROWID": 3, "address": ANNA, "service": "iMessage", "country": "de"}
        row: Json = {
            "originalROWID": self._next_row,
            "guid": str(uuid.uuid4()).upper(),
            "text": text,
            "attributedBody": None,
            "handle": handle,
            "handleId": 3,
            "attachments": [],
            "subject": None,
            "error": 0,
            "dateCreated": int(time.time() * 1000),
            "dateDelivered": None,
            "isFromMe": False,
            "itemType": 0,
            "groupTitle": None,
            "groupActionType": 0,
            "associatedMessageGuid": None,
            "associatedMessageType": None,
            "isAutoReply": False,
            "chats": [{"originalROWID": 1, "guid": chat, "style": _STYLES.get(chat, 45)}],
            "dateRetracted": None,
            **more,
        }
        self._next_row = row["originalROWID"] + 1
        self.rows.append(row)
        return row

    def put_file(self, content: bytes, mime: str, name: str = "d.pdf") -> Json:
        guid = f"at_0_{str(uuid.uuid4()).upper()}"
        self.files[guid] = (mime, content)
        told = {"originalROWID": 1, "guid": guid, "mimeType": mime, "transferName": name}
        return {**told, "totalBytes": len(content), "isSticker": False}

    def ours(self, chat: str | None = None) -> list[Json]:
        mine = [one for one in self.rows if one["isFromMe"] and not one["error"]]
        return [one for one in mine if chat in (None, one["chats"][0]["guid"])]

    def cut(self) -> None:
        for stream in self._open:
            stream.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while (request := await read_request(reader)) is not None:
                if "/download" in request.target and self.holds_files is not None:
                    await self.holds_files.wait()
                status, kind, told, more = self._answer(request)
                if status == 0:
                    writer.transport.abort()
                    return
                head = [f"HTTP/1.1 {status} -", f"content-length: {len(told)}"]
                head += [f"content-type: {kind}", *more]
                writer.write("\r\n".join([*head, "", ""]).encode() + told)
                await writer.drain()
        finally:
            self._open.discard(writer)

    def _answer(self, request: Request) -> tuple[int, str, bytes, list[str]]:
        parts = urlsplit(request.target)
        query = parse_qs(parts.query)
        given = query.get("guid") or query.get("password") or query.get("token") or [""]
        if given[0].strip() != PASSWORD:
            return _error(401, "Authentication Error", "Unauthorized")
        path = parts.path.removeprefix("/api/v1/")
        if request.method == "POST":
            return self._posted(path, request.body)
        return _success(self._info()) if path == "server/info" else self._file(path)

    def _posted(self, path: str, body: bytes) -> tuple[int, str, bytes, list[str]]:
        if path == "message/query":
            return self._query(json.loads(body))
        if path == "message/text":
            return self._send(json.loads(body), None)
        assert path == "message/attachment"
        return self._send(*_form(body))

    def _file(self, path: str) -> tuple[int, str, bytes, list[str]]:
        found = re.fullmatch(r"attachment/([^/]+)/download", path)
        kept = self.files.get(unquote(found[1])) if found else None
        if kept is not None and self.late:
            self.late -= 1
            return _error(500, "Server Error", "Attachment does not exist in disk!")
        if kept is None:
            return _error(404, "Database Error", "The requested resource was not found")
        return 200, kept[0], kept[1], []

    def _info(self) -> Json:
        return {
            "computer_id": "anna@mini.local",
            "os_version": "15.5",
            "server_version": "1.9.9",
            "private_api": self.private_api,
            "helper_connected": self.private_api,
            "detected_icloud": "barnacle@example.org",
            "detected_imessage": "barnacle@example.org",
        }

    def _query(self, asked: Json) -> tuple[int, str, bytes, list[str]]:
        """As TypeORM is told to: joined with chats, sorted by when it was written, a page of it."""
        limit = asked.get("limit", 100)
        if not 1 <= limit <= _MAX_LIMIT or asked.get("sort", "DESC") not in ("ASC", "DESC"):
            return _error(400, "Validation Error", "limit or sort")
        found = [one for one in self.rows if all(_holds(one, w) for w in asked.get("where", []))]
        if chat := asked.get("chatGuid"):
            found = [one for one in found if one["chats"][0]["guid"] == chat]
        elif "where" in asked:
            self.looked += 1
        found.sort(key=lambda one: one["dateCreated"], reverse=asked.get("sort") != "ASC")
        assert set(asked["with"]) == {"chats", "attachments"}
        return _success(found[:limit], metadata={"total": len(found), "limit": limit})

    def _send(self, told: Json, content: bytes | None) -> tuple[int, str, bytes, list[str]]:
        assert told["method"] in ("apple-script", "private-api")
        assert told["tempGuid"]
        if told["tempGuid"] in self.queued:
            return _error(400, "Validation Error", "Message is already queued to be sent!")
        if self.fault is not None:
            (status, retry_after_s), self.fault = self.fault, None
            more = [f"retry-after: {retry_after_s:.0f}"] if retry_after_s else []
            return status, "text/html", b"<h1>trouble</h1>", more
        self.asked.append(told)
        code, self.apple_error = self.apple_error, 0
        files = []
        if content is not None:
            self.sent_files.append(content)
            files = [self.put_file(content, "application/pdf", told["name"])]
        text = told.get("message", "\ufffc")
        more_of = {"isFromMe": True, "error": code, "handle": None, "attachments": files}
        row = self.write(text, told["chatGuid"], **more_of)
        if self.loses_receipt:
            self.loses_receipt = False
            return 0, "", b"", []
        if code:
            return _error(500, "iMessage Error", "Message failed to send!", row)
        return _success({**row, "tempGuid": told["tempGuid"]})


@contextlib.asynccontextmanager
async def running(server: BlueBubblesServer, port: int = 0) -> AsyncIterator[BlueBubblesServer]:
    async with serving(server.serve, port) as url:
        server.url = url
        yield server


def _holds(row: Json, where: Json) -> bool:
    """The two conditions that the server's own programs ask with."""
    said, told = where["statement"], where["args"]
    if said == "message.ROWID > :startRowId":
        return bool(row["originalROWID"] > told["startRowId"])
    assert said == "message.ROWID <= :endRowId"
    return bool(row["originalROWID"] <= told["endRowId"])


def _form(body: bytes) -> tuple[Json, bytes]:
    told: Json = {}
    content = b""
    boundary = body.partition(b"\r\n")[0]
    for part in body.split(boundary)[1:-1]:
        found = _FIELD.search(part)
        assert found is not None
        value = part[found.end() :].removesuffix(b"\r\n")
        if found[2] is None:
            told[found[1].decode()] = value.decode()
        else:
            assert found[1] == b"attachment"
            content = value
    return told, content


def _success(data: object, **more: object) -> tuple[int, str, bytes, list[str]]:
    told = {"status": 200, "message": "Success", "data": data, **more}
    return 200, "application/json", json.dumps(told).encode(), []


def _error(
    status: int, kind: str, said: str, data: Json | None = None
) -> tuple[int, str, bytes, list[str]]:
    told: Json = {"status": status, "message": kind, "error": {"type": kind, "message": said}}
    if data is not None:
        told["data"] = data
    return status, "application/json", json.dumps(told).encode(), []
