import pytest

from agent.readings.series import Series, SeriesKind, find_series


@pytest.mark.parametrize("said", ["Garten.Temperatur", "garten.temperatur", "GARTEN", "Temperatur"])
def test_a_name_that_was_imported_with_capitals_is_found(said: str) -> None:
    garden = Series(1, SeriesKind("Garten.Temperatur", "°C"), 60)
    assert find_series([garden, Series(2, SeriesKind("pump"), 60)], said, {}) is garden


def test_of_two_names_with_and_without_capitals_the_exact_one_is_meant() -> None:
    both = [Series(1, SeriesKind("tank"), 60), Series(2, SeriesKind("Tank"), 60)]
    assert [find_series(both, one.name, {}) for one in both] == both


@pytest.mark.parametrize("said", ["water_pump", "Water pump"])
def test_an_alias_with_an_underscore_is_found(said: str) -> None:
    pump = Series(1, SeriesKind("out_1", is_switch=True), 60)
    assert find_series([pump], said, {"out_1": ("water_pump",)}) is pump


def test_what_a_reading_was_before_is_meant_only_by_who_says_so() -> None:
    now, before = SeriesKind("tank.level", "cm"), SeriesKind("tank.level.former", "V")
    every = [Series(1, before, 60), Series(2, now, 60)]
    for said in ("tank", "tank level", "level", "distance"):
        assert find_series(every, said, {}).kind == now
    assert find_series(every, "tank.level.former", {}).kind == before
    assert find_series(every, "voltage", {}).kind == before
