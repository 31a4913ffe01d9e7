"""Refusals in the shape of OpenAI's errors."""

from typing import TYPE_CHECKING

from agent.channels.push import PushAnswer

if TYPE_CHECKING:
    from starlette.responses import Response

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_SERVER_FAULT = 500


class RequestRefused(Exception):
    """Request that is not answered.

    Args:
        param: the field that is wrong, where it is one.
        code: a word for programs.
    """

    def __init__(
        self, status: int, text: str, *, param: str = "", code: str = "", retry_after_s: int = 0
    ) -> None:
        super().__init__(text)
        self.status = status
        self.param = param
        self.code = code
        self.retry_after_s = retry_after_s

    @property
    def body(self) -> dict[str, object]:
        """Return the error as its readers expect it."""
        usual = "server_error" if self.status >= _SERVER_FAULT else "invalid_request_error"
        return {
            "error": {
                "message": str(self),
                "type": _TYPES.get(self.status, usual),
                "param": self.param or None,
                "code": self.code or None,
            }
        }

    def response(self) -> "Response":
        """Return the whole answer."""
        from starlette.responses import JSONResponse  # noqa: PLC0415 - the gateway has it, others need not

        made = JSONResponse(self.body, self.status)
        if self.retry_after_s:
            made.headers["retry-after"] = str(self.retry_after_s)
        return made


def refused(answered: PushAnswer) -> "Response":
    """Return a refusal of the gateway itself, such as of a wrong token."""
    code = "invalid_api_key" if answered.status == 401 else ""  # noqa: PLR2004 - Unauthorized
    wait_s = answered.retry_after_s or 0
    return RequestRefused(
        answered.status, answered.text, code=code, retry_after_s=wait_s
    ).response()
