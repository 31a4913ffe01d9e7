"""A browser without scripts: it keeps its cookies, sends the forms of its pages, hears events."""

import asyncio
import re

from tests.fakes.console_home import FORM, EventReader, Page, page_of

_TOKEN = re.compile(r'name="token" value="(\w+)"')


class Browser:
    """Browser of one visitor at the console of that address."""

    def __init__(self, base: str, source: str = "127.0.0.1") -> None:
        self._host, _, port = base.removeprefix("http://").partition(":")
        self._port = int(port)
        # This machine's own addresses are many: each is another caller
        self._source = (source, 0)
        self.cookies: dict[str, str] = {}
        self.text = ""

    async def get(self, path: str) -> Page:
        return await self._ask("GET", path, {}, "")

    async def send(self, path: str, **fields: str) -> Page:
        found = _TOKEN.search(self.text)
        assert found is not None, self.text
        form = "&".join(f"{name}={value}" for name, value in fields.items())
        origin = {"origin": f"http://{self._host}:{self._port}", "content-type": FORM}
        return await self._ask("POST", path, origin, f"token={found[1]}&{form}".rstrip("&"))

    async def open(self, page: str) -> tuple[EventReader, asyncio.StreamWriter]:
        reader, writer = await self._connect()
        writer.write(self._head("GET", f"/live?page={page}", {}))
        return EventReader(reader), writer

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._host, self._port, local_addr=self._source)

    async def _ask(self, method: str, path: str, headers: dict[str, str], body: str) -> Page:
        length = {"content-length": str(len(body))} if method == "POST" else {}
        reader, writer = await self._connect()
        sent = {**headers, **length, "connection": "close"}
        writer.write(self._head(method, path, sent) + body.encode())
        page = page_of(await reader.read(-1))
        writer.close()
        self.cookies |= page.cookies()
        self.text = page.text or self.text
        return page

    def _head(self, method: str, path: str, headers: dict[str, str]) -> bytes:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items() if value)
        lines = {"host": f"{self._host}:{self._port}", "cookie": cookies, **headers}
        head = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items())]
        return "\r\n".join([*head, "", ""]).encode()

    async def size(self, path: str) -> int:
        """Return the bytes that come for a request that takes compressed ones."""
        reader, writer = await self._connect()
        accepts = {"accept-encoding": "gzip", "connection": "close"}
        writer.write(self._head("GET", path, accepts))
        answer = await reader.read(-1)
        writer.close()
        if not path.startswith("/static/"):
            self.text = answer.decode()
        return len(answer)
