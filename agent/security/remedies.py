"""What the owner may do about each rule that decides a call, in a sentence."""

from agent.security.policy import LIMIT, OWN

_RULES = {
    "read": "looking is always free; a table [agent.rules.<name>] may ask or deny",
    "readonly": 'set agent.autonomy to "supervised" to let it act on your word',
    "full": 'set agent.autonomy to "supervised" to be asked about what may do harm',
    "execute": "say yes or always; agent.autonomy changes nothing here",
    "owners-word": 'a table [agent.rules.<name>] with verdict = "ask" or "deny" is stricter',
    "provenance": "only your yes changes it; /new begins a conversation without what was read",
    "estop": "`/estop clear` in the chat or `barnacle estop --clear` lets things move again",
    "too-long": "nothing: what cannot be read whole cannot be approved; ask for less at a time",
    "secret": "nothing: keys are used by the adapter that they are for, and go nowhere else",
    "unrecorded": "make room on the disk: what cannot be recorded does not happen",
    "presence": "agent.presence_for lists the effects for which the button has to be pressed",
    "no-presence": "press the button of board.approve_button in time, or change agent.presence_for",
    "standing-approval": "you said always to it; `barnacle approvals revoke` has you asked again",
    "owner-yes": "a yes is for one act; `always` is for the calls it names, for 30 days",
    "owner-always": "`barnacle approvals revoke` has you asked again",
    "owner-no": "ask for it again and say yes",
    "no-answer": "ask for it again and answer within 120 s",
    "not-asked": "ask for it where you can be asked, such as `barnacle chat` in a terminal",
}
_SUPERVISED = (
    'say yes or always; a table [agent.rules.<name>] with verdict = "allow" or '
    'agent.autonomy = "full" asks no more on your own word'
)
_NONE = "nothing is known of this rule"


def remedy_of(rule: str) -> str:
    """How to change what a rule decides."""
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
    return f'say yes, or make a table [agent.rules.all] with tool = "*" and {span} = a number'
