"""Advice for each rule that decides calls: how the owner can change it."""

from agent.security.policy import LIMIT, OWN

_RULES = {
    "read": "reading is always allowed; a table [agent.rules.<name>] can ask or deny",
    "readonly": 'set agent.autonomy to "supervised" to let it act on your orders',
    "full": 'set agent.autonomy to "supervised" to be asked before harmful acts',
    "execute": "answer yes or always; agent.autonomy does not change this",
    "owners-word": 'a table [agent.rules.<name>] with verdict = "ask" or "deny" is stricter',
    "provenance": "answer yes; or begin a conversation without the text it read: /new",
    "estop": "`/estop clear` in the chat or `barnacle estop --clear` clears the stop",
    "too-long": "ask for less at a time: an act too long to show in full cannot be approved",
    "secret": "none: only the service of a key ever gets it",
    "unrecorded": "make room on the disk: an act that cannot be recorded is refused",
    "presence": "agent.presence_for lists the effects that need the button",
    "no-presence": "press the button of board.approve_button in time, or change agent.presence_for",
    "standing-approval": "you answered always; `barnacle approvals revoke` makes it ask again",
    "owner-yes": "yes allows one act; `always` allows the calls it names for 30 days",
    "owner-always": "`barnacle approvals revoke` makes it ask again",
    "owner-no": "ask for it again and answer yes",
    "no-answer": "ask for it again and answer within 120 s",
    "not-asked": "ask where the agent can ask you, such as `barnacle chat` in a terminal",
}
_SUPERVISED = (
    'answer yes or always; a table [agent.rules.<name>] with verdict = "allow" or '
    'agent.autonomy = "full" stops the questions for your own orders'
)
_NONE = "no advice for this rule"


def remedy_of(rule: str) -> str:
    """Return the advice for a rule."""
    if rule.startswith("supervised-"):
        return _SUPERVISED
    if rule.startswith(OWN):
        return f"it is the table [agent.rules.{rule.removeprefix(OWN)}] of your configuration"
    if rule.startswith(LIMIT):
        return _of_limit(rule.removeprefix(LIMIT))
    return _RULES.get(rule, _NONE)


def _of_limit(limit: str) -> str:
    name, _, span = limit.rpartition(".")
    if name != "all":
        return f"{span} in the table [agent.rules.{name}] of your configuration is the limit"
    return f'answer yes, or add a table [agent.rules.all] with tool = "*" and {span} = a number'
