"""Sign-in at an MCP server of the web: OAuth 2.1, whose link the owner opens in their own browser.

Part of the bridge. What was signed in for is kept in a private file of the server's folder; the
browser may run anywhere, so its last address is handed over by the owner.
"""

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import ValidationError

from agent.storage.files import write_atomic
from agent.tools.mcp.lines import MAX_ADDRESS_CHARS, ReplyRequest, ServerQuestion, ServerSetup

# Nobody listens there: the browser shows the address, with the code in it
RETURN_ADDRESS = "http://127.0.0.1:33418/signed-in"
# The one value of the reply
ADDRESS_FIELD = "address"
KEPT_IN = "sign-in.json"

Put = Callable[[ServerQuestion], Awaitable[ReplyRequest]]


class SignIn:
    """Asks the owner to sign in, when a server wants that."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self._address = ""

    def provider(self, setup: ServerSetup) -> OAuthClientProvider | None:
        """Return what signs requests; None where the configuration has a header for that."""
        if any(name.lower() == "authorization" for name in setup.headers):
            return None
        about = OAuthClientMetadata(
            client_name="Barnacle",
            redirect_uris=[RETURN_ADDRESS],  # type: ignore[list-item]  # a text, as on the wire
            grant_types=["authorization_code", "refresh_token"],
        )
        kept = _SignInFile(Path(setup.folder) / KEPT_IN, setup)
        made = OAuthClientProvider(setup.url, about, kept, self._show, self._heard)
        kept.resume(made.context)
        return made

    async def _show(self, address: str) -> None:
        self._address = address

    async def _heard(self) -> AuthorizationCodeResult:
        if len(self._address) > MAX_ADDRESS_CHARS:
            raise OAuthFlowError("its address for signing in is too long")
        question = ServerQuestion("", address=self._address, returns_to=RETURN_ADDRESS)
        reply = await self._put(question)
        if reply.action != "accept":
            raise OAuthFlowError("it wants the owner to sign in, and nobody did")
        said = parse_qs(urlsplit(str(reply.values.get(ADDRESS_FIELD) or "")).query)
        if trouble := said.get("error"):
            raise OAuthFlowError(f"signing in failed: {trouble[0]}")
        code, state, issuer = (said.get(name, [""])[0] for name in ("code", "state", "iss"))
        return AuthorizationCodeResult(code=code, state=state or None, iss=issuer or None)


class _Kept(msgspec.Struct):
    """Content of the file.

    Args:
        expires_at_s: when the token ends, in seconds since the epoch; None where nobody knows.
        issuer: what the place that gave it says of itself, and so where it is renewed.
    """

    tokens: dict[str, object] | None = None
    client: dict[str, object] | None = None
    expires_at_s: float | None = None
    issuer: dict[str, object] | None = None


class _SignInFile:
    """Implements the SDK's `TokenStorage`; a damaged file counts as none."""

    def __init__(self, path: Path, setup: ServerSetup) -> None:
        self._path = path
        self._setup = setup
        self._context: OAuthContext | None = None

    def resume(self, context: OAuthContext) -> None:
        """Tell the SDK when its token ends and who renews it; of itself it forgets both.

        Without them the owner would have to sign in again each time that a token has ended.
        """
        self._context = context
        kept = self._read()
        context.token_expiry_time = kept.expires_at_s
        if kept.issuer is not None:
            with contextlib.suppress(ValidationError):
                context.oauth_metadata = OAuthMetadata.model_validate(kept.issuer)

    async def get_tokens(self) -> OAuthToken | None:
        found = self._read().tokens
        return None if found is None else OAuthToken.model_validate(found)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = self._read()
        kept.tokens = tokens.model_dump(mode="json", exclude_none=True)
        if self._context is not None:
            kept.expires_at_s = self._context.token_expiry_time
            issuer = self._context.oauth_metadata
            told = None if issuer is None else issuer.model_dump(mode="json", exclude_none=True)
            kept.issuer = told
        self._write(kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._setup.client_id:
            secret = self._setup.client_secret or None
            return OAuthClientInformationFull(
                client_id=self._setup.client_id,
                client_secret=secret,
                # As a sign-in that says nothing of it wants it, by RFC 8414
                token_endpoint_auth_method="client_secret_basic" if secret else "none",
                redirect_uris=[RETURN_ADDRESS],  # type: ignore[list-item]  # a text, as on the wire
            )
        found = self._read().client
        return None if found is None else OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        kept = self._read()
        kept.client = client_info.model_dump(mode="json", exclude_none=True)
        self._write(kept)

    def _read(self) -> _Kept:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        return _Kept()

    def _write(self, kept: _Kept) -> None:
        write_atomic(self._path, msgspec.json.encode(kept))
