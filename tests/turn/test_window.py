from agent.messages import ChatMessage, Role, ToolCall
from agent.turn.compaction import tokens_of
from agent.turn.window import SMALL_WINDOW_TOKENS, SmallWindow
from tests.fakes.said import assistant_said, system_said, tool_said, user_said

WINDOW = SmallWindow(4096)
PROMPT = (system_said("You are Barnacle."), system_said("## Date\nFriday"))


def cost(messages: tuple[ChatMessage, ...]) -> int:
    return sum(map(tokens_of, messages))


def turns(count: int, chars: int) -> list[ChatMessage]:
    return [
        one
        for number in range(count)
        for one in (user_said(f"question {number}"), assistant_said(f"{number} " + "a" * chars))
    ]


def test_a_large_or_unknown_window_is_left_alone() -> None:
    assert SmallWindow.of(None) is None
    assert SmallWindow.of(SMALL_WINDOW_TOKENS + 1) is None
    assert SmallWindow.of(4096) == WINDOW


def test_what_fits_stays_as_it_is() -> None:
    messages = (*PROMPT, *turns(3, 40), user_said("and now?"))
    fitted = WINDOW.fitted(messages, 500)
    assert fitted.messages == messages
    assert not fitted.is_shortened


def test_the_oldest_turns_stay_out_and_the_request_fits() -> None:
    fitted = WINDOW.fitted((*PROMPT, *turns(60, 400), user_said("and now?")), 700)
    assert fitted.is_shortened
    assert fitted.messages[-1].text == "and now?"
    said = [one for one in fitted.messages if one.role is not Role.SYSTEM]
    assert said[0].role is Role.USER
    assert said[-2].text.startswith("59 ")
    assert cost(fitted.messages) + 700 + WINDOW.answer_tokens <= WINDOW.tokens
    # No more is left out than has to be
    assert len(said) > 2 * 10


def test_a_long_prompt_is_cut_in_what_changes_first() -> None:
    memories = "\n".join(f"- memory {n}: {'b' * 700}" for n in range(4))
    brief = "## House\n" + "\n".join(f"Rule {n}." for n in range(20))
    fitted = WINDOW.fitted((system_said(brief), system_said(memories), user_said("hi")), 0)
    assert cost(fitted.messages[:2]) <= WINDOW.prompt_tokens
    assert fitted.messages[0].text == brief
    # A little of each memory rather than all of one
    assert all(f"memory {n}" in fitted.messages[1].text for n in range(4))


def test_a_prompt_that_cannot_be_cut_alike_loses_its_end() -> None:
    brief = "\n".join(f"Rule {n} of the owner." for n in range(2000))
    fitted = WINDOW.fitted((system_said(brief), system_said("Friday"), user_said("hi")), 0)
    assert cost(fitted.messages) <= WINDOW.prompt_tokens + 120
    assert fitted.messages[0].text.startswith("Rule 0 of the owner.")


def test_results_of_the_last_turn_are_cut_until_it_fits() -> None:
    calls = [ToolCall(str(n), "page", "{}") for n in range(4)]
    turn = [user_said("read these"), assistant_said("", tuple(calls))]
    turn += [tool_said(call, f"page {call.call_id} " + "c" * 8000) for call in calls]
    fitted = WINDOW.fitted((*PROMPT, *turn), 700)
    assert cost(fitted.messages) + 700 + WINDOW.answer_tokens <= WINDOW.tokens
    results = [one.text for one in fitted.messages if one.role is Role.TOOL]
    assert [text[:6] for text in results] == ["page 0", "page 1", "page 2", "page 3"]
