"""Address of a service, and the authentication of a request."""

from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from agent.config import Secret
from agent.net.http import HttpRequest
from agent.providers.catalog import Auth
from agent.providers.failures import ServiceTarget
from agent.security.redact import Redactor


class Endpoint(Struct, frozen=True):
    """One service, reached with one key.

    Args:
        url: what a wire format's paths are added to, without a slash at its end.
        key_source: the setting or variable that the key came from, for people.
        headers: sent with every request.
    """

    url: str
    key: Secret | None = None
    key_source: str = ""
    auth: Auth = Auth.BEARER
    auth_name: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return self.url.partition("://")[2].partition("/")[0]

    def with_key(self, key: Secret, key_source: str) -> "Endpoint":
        return replace(self, key=key, key_source=key_source)

    def service(self, model: str) -> ServiceTarget:
        """Return the service for error messages: without the key, which it can redact."""
        redactor = Redactor(() if self.key is None else (self.key,))
        return ServiceTarget(self.url, self.host, model, self.key_source, redactor)

    def request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> HttpRequest:
        sent = {**self.headers, **headers}
        if body:
            sent.setdefault("content-type", "application/json")
        url = f"{self.url}/{path}"
        if self.key is not None:
            key = self.key.reveal()
            if self.auth is Auth.BEARER:
                sent["authorization"] = f"Bearer {key}"
            elif self.auth is Auth.HEADER:
                sent[self.auth_name] = key
            else:
                url += f"{'&' if '?' in url else '?'}{self.auth_name}={quote(key, safe='')}"
        return HttpRequest(method, url, sent, body)
