"""Offers: a question that offers a number offers the one that was said, or none."""

from agent.providers.offline.measures import amounts_of, converted
from agent.providers.offline.pieces import Analysis
from agent.providers.offline.plan import Ask, Draft, Reason
from agent.providers.offline.toolbox import Parameter
from agent.providers.offline.units import Kind

_CLOSE = 1e-6


def misquoted(ask: Ask, analysis: Analysis) -> str | None:
    """The first word of a number that a question would offer otherwise; None where none is."""
    drafts = [draft for option in ask.need.options for draft in option.drafts]
    numbers = [piece for piece in analysis.pieces if piece.kind is Kind.NUMBER]
    if ask.need.reason is not Reason.CONFIRM or not numbers:
        return None
    given = [one for draft in drafts for one in _numbers(draft)]
    if not given or (len(numbers) == 1 and all(_is_said(*one, analysis) for one in given)):
        return None
    return numbers[0].text


def _numbers(draft: Draft) -> list[tuple[Parameter, float]]:
    return [
        (one, float(draft.arguments[one.name]))
        for one in draft.profile.parameters
        if one.kind in {"number", "integer"} and one.name in draft.arguments
        if draft.arguments[one.name] != one.kept_by
    ]


def _is_said(parameter: Parameter, value: float, analysis: Analysis) -> bool:
    """It is the number of the message, and no word before that is unknown, such as a minus."""
    for amount in amounts_of(analysis.pieces, analysis.code):
        number = converted(amount, parameter.unit)
        place = analysis.pieces.index(amount.pieces[0])
        before = analysis.pieces[place - 1] if place else None
        unclear = before is not None and before.kind is Kind.WORD and not before.known
        if number is not None and abs(number - value) < _CLOSE and not unclear:
            return True
    return False
