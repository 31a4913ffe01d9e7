"""Sign-in at a server of the web: once, for as long as the token can be renewed."""

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from agent.tools.mcp.lines import ReplyRequest, ServerQuestion, ServerSetup
from agent.tools.mcp.sign_in import ADDRESS_FIELD, KEPT_IN, RETURN_ADDRESS, SignIn

URL = "https://garden.example/mcp"
ISSUER = "https://login.example"
ENDPOINTS = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/oauth/token",
    "registration_endpoint": f"{ISSUER}/register",
    "response_types_supported": ["code"],
    "grant_types_supported": ["authorization_code", "refresh_token"],
    "code_challenge_methods_supported": ["S256"],
}


class Garden:
    """A server, and the place where one signs in for it.

    Args:
        is_renewing: a token can be renewed.
    """

    def __init__(self, *, is_renewing: bool = True) -> None:
        self.is_renewing = is_renewing
        self.asked: list[str] = []
        self.signed_in = 0
        self._tokens = 0
        self._has_ended = False

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        place = f"{request.url.host}{request.url.path}"
        self.asked.append(place)
        match place:
            case "garden.example/mcp":
                return self._garden(request)
            case "garden.example/.well-known/oauth-protected-resource/mcp":
                told = {"resource": URL, "authorization_servers": [ISSUER]}
                return httpx2.Response(200, json=told)
            case "login.example/.well-known/oauth-authorization-server":
                return httpx2.Response(200, json=ENDPOINTS)
            case "login.example/register":
                return httpx2.Response(201, json={**json.loads(request.content), "client_id": "us"})
            case "login.example/oauth/token":
                return self._token(parse_qs(request.content.decode()))
        return httpx2.Response(404)

    async def sign_in(self, question: ServerQuestion) -> ReplyRequest:
        self.signed_in += 1
        state = httpx2.URL(question.address).params["state"]
        address = f"{RETURN_ADDRESS}?code=yes&state={state}"
        return ReplyRequest("", "accept", {ADDRESS_FIELD: address})

    def _garden(self, request: httpx2.Request) -> httpx2.Response:
        is_in = request.headers.get("authorization") == f"Bearer token-{self._tokens}"
        return httpx2.Response(200 if is_in and not self._has_ended else 401)

    def _token(self, asked: Mapping[str, list[str]]) -> httpx2.Response:
        renewal = f"renewal-{self._tokens}"
        if asked["grant_type"] == ["refresh_token"] and asked["refresh_token"] != [renewal]:
            return httpx2.Response(400, json={"error": "invalid_grant"})
        self._tokens += 1
        self._has_ended = False
        told = {"access_token": f"token-{self._tokens}", "token_type": "Bearer", "expires_in": 60}
        more = {"refresh_token": f"renewal-{self._tokens}"} if self.is_renewing else {}
        return httpx2.Response(200, json=told | more)

    def end_token(self, folder: Path) -> None:
        """Let its time pass, here and there."""
        self._has_ended = True
        kept = json.loads((folder / KEPT_IN).read_bytes())
        if "expires_at_s" in kept:
            kept["expires_at_s"] -= 100
        (folder / KEPT_IN).write_text(json.dumps(kept))


async def visit(garden: Garden, folder: Path, *, is_owner_there: bool = True) -> int:
    """Ask the server once, by a bridge that has just been started."""

    async def nobody(_question: ServerQuestion) -> ReplyRequest:
        return ReplyRequest("", "decline")

    setup = ServerSetup(url=URL, folder=str(folder))
    sign_in = SignIn(garden.sign_in if is_owner_there else nobody)
    transport = httpx2.MockTransport(garden.answer)
    async with httpx2.AsyncClient(transport=transport, auth=sign_in.provider(setup)) as client:
        return (await client.post(URL)).status_code


async def test_a_token_that_has_ended_is_renewed_after_a_restart_without_the_owner(
    tmp_path: Path,
) -> None:
    garden = Garden()
    assert await visit(garden, tmp_path) == 200
    for _ in range(2):
        garden.asked.clear()
        garden.end_token(tmp_path)
        assert await visit(garden, tmp_path, is_owner_there=False) == 200
        assert garden.asked == ["login.example/oauth/token", "garden.example/mcp"]
    assert garden.signed_in == 1


async def test_one_that_cannot_be_renewed_is_asked_for_again(tmp_path: Path) -> None:
    garden = Garden(is_renewing=False)
    assert await visit(garden, tmp_path) == 200
    garden.end_token(tmp_path)
    with pytest.raises(OAuthFlowError, match="nobody did"):
        await visit(garden, tmp_path, is_owner_there=False)
    assert await visit(garden, tmp_path) == 200
    assert garden.signed_in == 2


async def test_what_was_kept_by_an_earlier_version_or_is_damaged_counts_on(tmp_path: Path) -> None:
    garden = Garden()
    assert await visit(garden, tmp_path) == 200
    kept = json.loads((tmp_path / KEPT_IN).read_bytes())
    earlier = {name: kept[name] for name in ("tokens", "client")}
    for told in (earlier, {**kept, "expires_at_s": None, "issuer": {"issuer": 5}}):
        (tmp_path / KEPT_IN).write_text(json.dumps(told))
        assert await visit(garden, tmp_path, is_owner_there=False) == 200
