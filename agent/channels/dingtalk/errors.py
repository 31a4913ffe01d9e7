"""Failures of DingTalk, sorted by the code of the refusal if there is one.

Its newer API has words for codes, its older one and the answers to messages have numbers.
"""

from agent.channels import rest
from agent.channels.rest import RestReply
from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused

# All limits of calls are by the second
CALLS_RETRY_S = 1.0
# Twenty messages a minute into a chat
MESSAGES_RETRY_S = 60.0
# Everything from one address: it is shut out for so long
ADDRESS_RETRY_S = 300.0
_OK_CODES = frozenset({"", "0"})
_CALLED_TOO_OFTEN = frozenset({"90002", "90018", "90019"})
_TOLD_TOO_OFTEN = frozenset({"130101", "410100"})
_SPENT_TOKEN = frozenset({"InvalidAuthentication", "40001", "40014", "41001", "42001"})
_NOT_KNOWN = frozenset({"authFailed", "invalidClientIdOrSecret"})
_MONTH_IS_SPENT = frozenset({"Forbidden.AccessDenied.ApiCountLimitForOrg", "90020"})
_QPS, _NO_RIGHT = "Forbidden.AccessDenied.QpsLimit", "Forbidden.AccessDenied"
# In an answer that is the gate's own, of neither API
_SHUT_OUT = "punish"
# The older API says by it that the code is a level deeper
_DEEPER = "88"


class DingTalkRefused(MessageRefused):
    """The server understood the request and refuses it."""


def is_done(reply: RestReply) -> bool:
    told = reply.fields
    is_shut_out = bool(told.get(_SHUT_OUT))
    return (
        reply.status == rest.OK and bool(told) and code_in(reply) in _OK_CODES and not is_shut_out
    )


def is_spent_token(reply: RestReply) -> bool:
    return reply.status == rest.UNAUTHORIZED or code_in(reply) in _SPENT_TOKEN


def code_in(reply: RestReply) -> str:
    """Return the platform's error code; empty if there is none."""
    told = reply.fields
    for name in ("code", "errcode"):
        code = told.get(name)
        if isinstance(code, str | int):
            found = rest.reason_in(str(code))
            return rest.reason_in(str(told.get("sub_code", code))) if found == _DEEPER else found
    return ""


def failure(reply: RestReply) -> ChannelError:
    """Return the error to raise for a refusal."""
    code, said = code_in(reply), _said(reply)
    if wait_s := _wait_s(reply, code):
        return ChannelUnavailable(f"DingTalk was asked too often ({said})", retry_after_s=wait_s)
    if is_spent_token(reply) or code in _NOT_KNOWN:
        return unknown_app(said)
    if code in _MONTH_IS_SPENT:
        return ChannelRefused(
            f"the organisation has spent the calls of its month ({said}): they begin anew with the "
            "next, or somebody buys more at https://open-dev.dingtalk.com"
        )
    if code.startswith(_NO_RIGHT):
        return ChannelRefused(
            f"the app lacks a right ({said}): give it qyapi_robot_sendmsg on its page Permissions "
            "at https://open-dev.dingtalk.com, and let this address in where it has a list of them"
        )
    if reply.status >= rest.SERVER_ERRORS or not code:
        return ChannelUnavailable(f"DingTalk's server is in trouble ({said})")
    return DingTalkRefused(f"DingTalk refused it ({said})")


def unknown_app(said: str) -> ChannelRefused:
    return ChannelRefused(
        f"DingTalk does not know this app ({said}): look at client_id and client_secret in "
        "channels.dingtalk, which stand on the app's page Credentials at "
        "https://open-dev.dingtalk.com, and whether its robot is in Stream mode"
    )


def _wait_s(reply: RestReply, code: str) -> float:
    """Return the seconds of silence that it asks for; 0 if none."""
    if reply.fields.get(_SHUT_OUT):
        return ADDRESS_RETRY_S
    if code in _TOLD_TOO_OFTEN:
        return MESSAGES_RETRY_S
    if code.startswith(_QPS) or code in _CALLED_TOO_OFTEN:
        return CALLS_RETRY_S
    return rest.seconds(reply.header("retry-after")) if reply.status == rest.TOO_MANY else 0.0


def _said(reply: RestReply) -> str:
    told = reply.fields
    reason = rest.reason_in(told.get("message") or told.get("errmsg"))
    code = code_in(reply)
    return f"{reply.status}{f'/{code}' if code else ''}{f': {reason}' if reason else ''}"
