import itertools

import pytest

from agent.turn.loop_guard import Advice, Course, LoopGuard, Step

GO_ON, NUDGE, STOP = Course.GO_ON, Course.NUDGE, Course.STOP


def look(result: str = "off", arguments: str = "{}", tool: str = "read") -> Step:
    return Step(tool, arguments, result, success=True)


def failed(result: str, arguments: str = "{}", tool: str = "read") -> Step:
    return Step(tool, arguments, result, success=False)


def act(value: str, tool: str = "lamp") -> Step:
    return Step(tool, f'{{"value":"{value}"}}', value, success=True, changes=True)


def advices(*rounds: Step | list[Step]) -> list[Advice]:
    guard = LoopGuard()
    return [guard.after(one if isinstance(one, list) else [one]) for one in rounds]


def courses(*rounds: Step | list[Step]) -> list[Course]:
    return [advice.course for advice in advices(*rounds)]


def test_the_same_call_with_the_same_result_is_stopped_at_the_third_time() -> None:
    assert courses(look(), look(), look()) == [GO_ON, NUDGE, STOP]
    assert courses(act("on"), act("on"), act("on")) == [GO_ON, NUDGE, STOP]
    assert courses(failed("no"), failed("no"), failed("no")) == [GO_ON, NUDGE, STOP]


def test_a_stop_says_why_in_words() -> None:
    assert advices(look(), look(), look())[-1].sentence == "the same step came to the same 3 times"


def test_other_looks_in_between_do_not_hide_a_repetition() -> None:
    other = [look(tool=f"other_{n}") for n in range(2)]
    assert courses(look(), other[0], look(), other[1], look())[-1] is STOP


def test_the_order_and_the_spaces_of_arguments_make_no_other_call() -> None:
    one, other = '{"a":1,"b":2}', '{ "b": 2, "a": 1 }'
    assert courses(look("x", one), look("x", other), look("x", one))[-1] is STOP


def test_arguments_that_are_no_json_are_compared_as_they_are() -> None:
    assert courses(failed("?", "{"), failed("?", "{"), failed("?", "{"))[-1] is STOP


def test_a_reading_that_changes_is_no_loop() -> None:
    assert set(courses(*(look(str(n)) for n in range(40)))) == {GO_ON}


def test_what_is_asked_for_at_once_was_planned() -> None:
    assert courses([act("on"), act("off")] * 20) == [GO_ON]


def test_looking_again_after_something_was_changed_is_no_repetition() -> None:
    looks = [look("dry"), act("1"), look("dry"), act("2"), look("dry"), act("3"), look("dry")]
    assert STOP not in courses(*looks)


def test_a_lamp_may_blink_a_few_times_and_no_more() -> None:
    blinking = courses(*itertools.islice(itertools.cycle([act("on"), act("off")]), 8))
    assert blinking == [GO_ON] * 5 + [NUDGE, NUDGE, STOP]


def test_to_and_fro_with_readings_that_change_is_no_loop() -> None:
    rounds = [one for n in range(10) for one in (act("on"), look(str(n)))]
    assert STOP not in courses(*rounds)


def test_two_looks_that_take_turns_are_stopped_as_repetitions() -> None:
    assert courses(*[look("a", tool="one"), look("b", tool="other")] * 3)[4] is STOP


def near(n: int, result: str = "[]") -> Step:
    asked = ("pump", "the pump", "the Pump?", "pump!", "PUMP")
    return look(result, f'{{"query":"{asked[n]}"}}', "recall")


def test_nearly_the_same_question_with_the_same_answer_is_stopped_in_the_end() -> None:
    assert courses(*map(near, range(5))) == [GO_ON, GO_ON, NUDGE, NUDGE, STOP]
    told = advices(*map(near, range(5)))[-1].sentence
    assert told == "nearly the same step came to the same 5 times"


def test_nearly_the_same_question_with_other_answers_is_a_search() -> None:
    assert set(courses(*(near(n, str(n)) for n in range(5)))) == {GO_ON}


def test_failures_that_differ_in_little_are_near_to_each_other() -> None:
    def read(n: int) -> Step:
        path = f"notes/of/the/year/day{n}.md"
        return failed(f"there is no file called {path} here", f'{{"path":"{path}"}}')

    assert courses(*map(read, range(3)))[-1] is NUDGE
    assert courses(*map(read, range(5)))[-1] is STOP


def test_quite_different_questions_are_not_near() -> None:
    asked = ["pump", "garden hose", "who is Mei", "birthday"]
    looks = [look("[]", f'{{"query":"{one}"}}') for one in asked]
    assert courses(*looks[:2]) == [GO_ON, GO_ON]


def test_rounds_that_bring_nothing_new_are_stopped() -> None:
    rounds = [failed(f"{n} went wrong", f'{{"{n}":{n}}}', f"tool_{n}") for n in range(5)]
    assert courses(*rounds) == [GO_ON, GO_ON, NUDGE, NUDGE, STOP]
    assert advices(*rounds)[-1].sentence == "5 rounds of tool use brought nothing new"


@pytest.mark.parametrize("news", [look("new"), act("on")])
def test_one_thing_that_is_new_begins_the_count_anew(news: Step) -> None:
    lost = [failed(f"{n} went wrong", f'{{"{n}":{n}}}', f"tool_{n}") for n in range(4)]
    assert STOP not in courses(*lost, news, *lost[:1])


def test_a_round_without_calls_is_no_progress_and_no_fault() -> None:
    assert courses([]) == [GO_ON]
