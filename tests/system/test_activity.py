from agent.system.activity import Activity


def test_what_is_under_way_is_counted_and_told() -> None:
    activity = Activity()
    told: list[tuple[int, int]] = []
    activity.listen(lambda: told.append((activity.turns, activity.questions)))
    with activity.thinking(), activity.asking():
        pass
    assert told == [(1, 0), (1, 1), (1, 0), (0, 0)]


def test_a_channel_is_deaf_until_it_is_not() -> None:
    activity = Activity()
    told: list[set[str]] = []
    activity.listen(lambda: told.append(set(activity.deaf)))
    for is_deaf in (False, True, True, False):
        activity.note_channel("telegram", is_deaf=is_deaf)
    assert told == [{"telegram"}, set()]


def test_a_channel_that_hears_nothing_is_deaf_whatever_it_can_send() -> None:
    activity = Activity()
    told: list[dict[str, str]] = []
    activity.listen(lambda: told.append(dict(activity.troubles)))
    for trouble in ("", "no network", "no network"):
        activity.note_trouble("telegram", trouble)
    activity.note_channel("telegram", is_deaf=False)
    assert activity.deaf == {"telegram"}
    activity.note_trouble("telegram", "")
    assert activity.deaf == set()
    assert told == [{"telegram": "no network"}, {}]
