"""Complaints of a service: its words and codes in any shape that services use.

Decided by error code, then by words; never by digits found in a text.
"""

import re
from typing import Any

from msgspec import Struct

from agent.providers import service_json, waits

_QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "1113", "1311"}
    # OpenAI, also for the limits that a person has set there
    | {"billing_not_active", "credit_balance_exhausted", "organization_usage_limit_exceeded"}
    | {"organization_spend_limit_exceeded", "project_spend_limit_exceeded"}
    # Anthropic, Moonshot, Alibaba
    | {"enforced_spend_limit_reached", "exceeded_current_quota_error", "Arrearage"}
    # MiniMax: no balance, and the plan's limit for some hours
    | {"base_resp.1008", "base_resp.2056"}
)
_QUOTA_WORDS = re.compile(
    r"insufficient.(balance|quota|credit)|exceeded your current quota|quota exhausted"
    r"|out of credits|credit balance is too low|plan does not include"
    # Anthropic, xAI, Gemini
    r"|reached your specified (workspace )?api usage limits"
    r"|used all available credits|doesn't have any credits"
    r"|prepayment credits are depleted|exceeded its (monthly )?spending cap",
    re.IGNORECASE,
)
# A service that says when to come back is not out of quota for good
_COMES_BACK = re.compile(r"retrydelay|(retry|try again) in", re.IGNORECASE)
# Google says so with 400, and so does LiteLLM, which looks for an unknown key in its database
_KEY_CODES = frozenset({"API_KEY_INVALID", "no_db_connection"})
# xAI with 400, too, in words alone
_KEY_WORDS = re.compile(r"\b(?:incorrect|invalid|expired) api.?key\b", re.IGNORECASE)
_NO_MODEL_CODES = frozenset({"model_not_found"})
_NO_MODEL_WORDS = re.compile(
    r"invalid model name|\b(?:unknown|no such) model\b|is not a valid model"
    r"|\bmodel [^ ]{1,100} (?:does not exist|not found|is not found)",
    re.IGNORECASE,
)
# What was asked was flagged: the key is good, and another service may answer
_FLAGGED_CODES = frozenset({"content_policy_violation", "content_filter", "moderation_blocked"})
_FLAGGED_WORDS = re.compile(
    r"\brequires moderation\b|\b(?:input|prompt|request|content) was flagged|\brequest blocked:",
    re.IGNORECASE,
)
# Keys that an answer does not have; `message` is one too where it is words
_INSTEAD = ("error", "errors", "detail", "msg", "base_resp")
# A stream whose only event is the error, in place of a body
_EVENT = re.compile(r"data: ?(\{.*\})[ \t]*$", re.MULTILINE)
_OVERFLOW_CODES = frozenset({"context_length_exceeded", "request_too_large"})
# One alternative for each family of services; some say it with 400, some with 413, some with 500
_OVERFLOW_WORDS = re.compile(
    r"prompt is too long|exceeds? (the )?context (window|limit|length)|context window exceeds"
    r"|(greater|longer) than the context length|exceeds the available context"
    r"|context length exceeded"
    r"|maximum context length|exceed context limit|context window has overflowed"
    r"|input token count.{0,40}exceeds the maximum|input is too long"
    r"|maximum prompt length is|reduce the length of the messages|exceeded max context length"
    r"|exceeded model token limit|prompt exceeds max length|too many tokens|token limit exceeded"
    r"|exceeds the limit of [0-9]|number of tokens to keep from the initial prompt is greater"
    # Older LM Studio; SGLang and Together; vLLM; DS4; Alibaba
    r"|tokens when (the )?context (the )?overflows"
    r"|longer than the (model's context length|maximum model length)"
    r"|input length [^.]{0,40}exceeds the maximum allowed"
    r"|but the configured context size is|range of input length should be"
    r"|inputs`? tokens \+ `?max_new_tokens`? must be",
    re.IGNORECASE,
)
# Whatever else they call it: a measure of what is sent, and that it is beyond what the model takes.
# vLLM of 2026, llama.cpp while it writes, SambaNova, DeepInfra, Bedrock, and more to come
_SENT_SIZE = (
    r"(?:context|prompt|input|sequence|conversation)(?:[ _-]token)?[ _-]"
    r"(?:length|window|size|limit|tokens?)\b"
)
_BEYOND = (
    r"exceed(?:s|ed|ing)?|overflow(?:s|ed)?|(?:longer|larger|greater|more) than"
    r"|too[ _](?:long|large|many)|maximum|(?:is|of) (?:only|just)|is [0-9]"
)
_OVERFLOW_SENSE = re.compile(
    rf"{_SENT_SIZE}[^.\n]{{0,60}}\b(?:{_BEYOND})|\b(?:{_BEYOND})\b[^.\n]{{0,60}}\b{_SENT_SIZE}"
    r"|\b(?:prompt|input|conversation)\b[^.\n]{0,40}[ _]too[ _](?:long|large)\b"
    r"|tokens in request more than max|must have less than [0-9]+ tokens",
    re.IGNORECASE,
)
# The limit of the answer is refused, or a rate: no shorter conversation helps
_NOT_OVERFLOW_SENSE = re.compile(
    r"max_(?:completion_|output_|new_)?tokens[`'\"]*:? (?:must|is too|cannot|should)"
    r"|maximum value for|\bquota\b|per minute|per day",
    re.IGNORECASE,
)
_NOT_OVERFLOW = re.compile(
    r"rate.?limit|too many requests|throttl|tokens per (min|day)|string_above_max_length",
    re.IGNORECASE,
)
# One request beyond a whole minute's limit: no wait helps, only a shorter one
_NEVER_FITS = re.compile(
    r"request too large for\b.{0,200}\btokens per (?:min|day)", re.IGNORECASE | re.DOTALL
)
# llama.cpp has it as a field; others say it in their sentence
_WINDOW = re.compile(
    r"(?:\"n_ctx\": ?|\bmax_model_len=)([0-9]{3,8})\b"
    r"|(?:maximum context length (?:is|of)|available context size \(|context length of only"
    r"|model's context length \(|maximum model length of|configured context size is"
    r"|input length should be \[1,"
    r"|(?:context|sequence) (?:length|window|size)(?: limit)? (?:is (?:only |just )?|\()"
    r"|maximum input length(?: of| is)?)"
    r" ?([0-9]{3,8})\b",
    re.IGNORECASE,
)
# vLLM, which compares the limit with the window before it has read the prompt
_ANSWER_WORDS = re.compile(
    r"max_(?:completion_)?tokens(?:=[0-9]+ cannot be greater than max_model_len|' is too large)"
)
_PICTURE_WORDS = re.compile(
    r"\bimages?\b|image_url|media.?type|\bpayload\b"
    r"|\b(?:request|entity|body|file) (?:is |size )?too large",
    re.IGNORECASE,
)
_TOKEN_WORDS = re.compile(r"tokens?\b|\bcontext\b|\bprompt\b", re.IGNORECASE)
_NO_TOOLS_WORDS = re.compile(
    r"(unknown|unsupported|unrecognized|unexpected)[^.]{0,40}[`'\" ]tools?\b"
    r"|(does not|doesn't|not) support(ed)?[^.]{0,30}\b(tools?|function)\b"
    r"|\b(tools?|tool use|function.calling)\b[^.]{0,40}(is|are) not (supported|available|enabled)"
    r"|no endpoints found that support tool use|tool_choice"
    # vLLM and llama.cpp without the option that reads calls
    r"|tool choice requires --|tools? param requires --jinja|requires --jinja",
    re.IGNORECASE,
)
# The service checks its model's calls: this one was wrong, the next may be right
_WRONG_CALL_WORDS = re.compile(
    r"tool call validation failed|was not in request|failed to call a function", re.IGNORECASE
)
_WRONG_CALL_CODES = frozenset({"tool_use_failed"})


class Complaint(Struct, frozen=True):
    """Error in one shape for all services."""

    message: str = ""
    codes: tuple[str, ...] = ()
    param: str = ""
    # How long the service asks to be left alone, as in a Retry-After header
    wait: str = ""

    @property
    def is_about_length(self) -> bool:
        if not _OVERFLOW_CODES.isdisjoint(self.codes):
            return True
        said = f"{self.message} {' '.join(self.codes)}"
        if _NEVER_FITS.search(said) is not None:
            return True
        return _OVERFLOW_WORDS.search(said) is not None and _NOT_OVERFLOW.search(said) is None

    @property
    def sounds_like_length(self) -> bool:
        """Return true for words that mean it where a status rules out the key and a rate."""
        said = f"{self.message} {' '.join(self.codes)}"
        return _OVERFLOW_SENSE.search(said) is not None and not any(
            other.search(said) for other in (_NOT_OVERFLOW, _NOT_OVERFLOW_SENSE)
        )

    @property
    def is_about_tokens(self) -> bool:
        """Return true for what a model counts, whatever it was that had too many."""
        return _TOKEN_WORDS.search(self.message) is not None

    @property
    def is_about_pictures(self) -> bool:
        """Return true for words that are about pictures where a request has some."""
        said = f"{self.message} {self.param}"
        is_named = any("image" in code for code in self.codes) or _PICTURE_WORDS.search(said)
        return bool(is_named) and not self.is_about_tokens

    @property
    def is_about_tools(self) -> bool:
        is_refused = _NO_TOOLS_WORDS.search(self.message) is not None
        return self.param == "tools" or is_refused or self.is_about_one_call

    @property
    def is_about_one_call(self) -> bool:
        is_code = not _WRONG_CALL_CODES.isdisjoint(self.codes)
        return is_code or _WRONG_CALL_WORDS.search(self.message) is not None

    @property
    def wait_in_words(self) -> str:
        """Return the seconds that a message asks to wait ("try again in 1.5s"); empty if none."""
        wait_s = waits.told_s(self.message)
        return "" if wait_s is None else str(wait_s)

    @property
    def names_bad_key(self) -> bool:
        """Return true for a code or words that mean nothing else."""
        is_code = not _KEY_CODES.isdisjoint(self.codes)
        return is_code or _KEY_WORDS.search(self.message) is not None

    @property
    def names_no_model(self) -> bool:
        is_code = not _NO_MODEL_CODES.isdisjoint(self.codes)
        return is_code or _NO_MODEL_WORDS.search(self.message) is not None

    @property
    def is_about_contents(self) -> bool:
        """Return true if a filter of the service refuses what was said."""
        is_code = not _FLAGGED_CODES.isdisjoint(self.codes)
        return is_code or _FLAGGED_WORDS.search(self.message) is not None

    @property
    def names_no_quota(self) -> bool:
        """Return true for a code that means nothing else."""
        return not _QUOTA_CODES.isdisjoint(self.codes)

    def sounds_like_no_quota(self, body: str) -> bool:
        """Return true by words, if the body does not say when to come back."""
        return _QUOTA_WORDS.search(body) is not None and _COMES_BACK.search(body) is None


def read(body: str) -> Complaint:
    """Return the complaint in the body of a refusal."""
    event = _EVENT.match(body)
    try:
        return shaped(service_json.parse(event[1] if event else body))
    except service_json.WireError:
        return Complaint("" if is_page(body) else body)


def is_page(body: str) -> bool:
    """Return true for a web page: whoever answered is no model service."""
    return body.lstrip().startswith("<")


def told_instead(event: str) -> object | None:
    """Return what an event says in place of an answer: some services refuse with success.

    None where it is no such event, whatever else is in it.
    """
    try:
        body = service_json.parse(event)
    except service_json.WireError:
        return None
    if not isinstance(body, dict) or not (
        any(body.get(key) for key in _INSTEAD) or isinstance(body.get("message"), str)
    ):
        return None
    return body if shaped(body).message else None


def window(body: str) -> int | None:
    """Return the tokens that the model takes, where the refusal of a long request says so."""
    found = _WINDOW.search(body)
    return None if found is None else int(found[1] or found[2])


def answer_window(body: str) -> int | None:
    """Return the window, where the limit of the answer alone was refused as too large."""
    return window(body) if _ANSWER_WORDS.search(body) else None


def shaped(body: object) -> Complaint:
    """Return the complaint in a parsed body."""
    if isinstance(body, list) and body:
        return shaped(body[0])
    if not isinstance(body, dict):
        return Complaint("" if body is None else str(body))
    inner = body.get("error", body.get("detail"))
    if inner is None and not body.get("message") and isinstance(body.get("errors"), list):
        # Cloudflare's place for it
        return shaped(body["errors"])
    if isinstance(inner, dict):
        return shaped(inner)
    if inner is not None:
        return Complaint(str(inner))
    return _with_upstream(_own(body), body.get("metadata"))


def _own(body: dict[Any, Any]) -> Complaint:
    """Return the complaint of an object that is one itself."""
    if isinstance(minimax := body.get("base_resp"), dict) and minimax.get("status_code"):
        code = f"base_resp.{minimax['status_code']}"
        return Complaint(str(minimax.get("status_msg") or code), (code,))
    codes = tuple(str(body[key]) for key in ("code", "type", "status") if body.get(key))
    reasons, wait = _details(body.get("details"))
    message = str(body.get("message") or body.get("msg") or "")
    return Complaint(message, (*codes, *reasons), str(body.get("param") or ""), wait)


def _with_upstream(own: Complaint, metadata: object) -> Complaint:
    """Return a complaint with that of the service behind it, which OpenRouter only quotes."""
    beside = metadata if isinstance(metadata, dict) else {}
    raw = beside.get("raw")
    upstream = read(raw) if isinstance(raw, str) else shaped(raw)
    flagged = ("content_policy_violation",) if beside.get("flagged_input") else ()
    return Complaint(
        ": ".join(filter(None, (own.message, upstream.message))),
        (*own.codes, *upstream.codes, *flagged),
        own.param or upstream.param,
        own.wait or upstream.wait,
    )


def _details(details: object) -> tuple[tuple[str, ...], str]:
    """Return reasons, and seconds to wait, from Google's and Anthropic's place for them."""
    parts = details if isinstance(details, list) else [details]
    found = [part for part in parts if isinstance(part, dict)]
    said = (part.get("reason") or part.get("error_code") for part in found)
    reasons = tuple(str(reason) for reason in said if reason)
    delays = (str(part["retryDelay"]) for part in found if part.get("retryDelay"))
    return reasons, next(delays, "")
