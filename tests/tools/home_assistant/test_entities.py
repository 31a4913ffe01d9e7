import msgspec
import pytest

from agent.messages import Effect
from agent.tools.home_assistant.entities import (
    HAZARDOUS,
    SERVICES,
    EntityRules,
    is_hazardous,
    state_after,
)
from agent.tools.settings import HomeAssistantSettings

ACT, HAZARD = Effect.ACTUATE, Effect.HAZARD


@pytest.mark.parametrize(
    ("entity", "danger", "effect"),
    [
        ("light.desk", "actuate", ACT),
        ("light.oven_hood", "hazard", HAZARD),
        ("light.cellar", "hazard", HAZARD),
        ("lock.front", "actuate", HAZARD),
        ("lock.shed", "actuate_even_so", ACT),
        ("switch.heater_2", "actuate", HAZARD),
        ("switch.garage", "actuate", HAZARD),
        ("switch.theatre", "actuate", ACT),
        ("sensor.temperature", "read", None),
        ("switch.secret", "read", None),
        ("person.anna", None, None),
        ("lightx.desk", None, None),
    ],
)
def test_the_owners_word_counts_and_a_lesser_one_for_a_hazard_does_not(
    entity: str, danger: str | None, effect: Effect | None
) -> None:
    rules = EntityRules(
        {
            "light.*": "actuate",
            "light.cellar": "hazard",
            "light.oven*": "hazard",
            "lock.*": "actuate",
            "lock.shed": "actuate_even_so",
            "switch.*": "actuate",
            "switch.secret": "read",
            "sensor.*": "read",
        }
    )
    assert rules.danger_of(entity) == danger
    assert rules.effect_of(entity) == effect


def test_of_two_patterns_that_say_as_much_the_stricter_counts() -> None:
    assert EntityRules({"light.a*": "actuate", "light.*b": "hazard"}).danger_of("light.ab") == (
        "hazard"
    )
    assert EntityRules({"light.*b": "read", "light.a*": "hazard"}).danger_of("light.ab") == "read"


def test_locks_covers_heaters_alarms_valves_and_sirens_are_hazards() -> None:
    for kind in ("lock", "cover", "climate", "water_heater", "valve", "siren"):
        assert is_hazardous(f"{kind}.anything")
        assert EntityRules({f"{kind}.*": "actuate"}).effect_of(f"{kind}.x") is HAZARD
    assert is_hazardous("alarm_control_panel.house")
    assert set(SERVICES) >= HAZARDOUS


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"entities": {"light.*": "actuate"}}, "base_url is missing"),
        ({"base_url": "http://ha:8123"}, "entities is missing"),
        ({"base_url": "http://ha:8123", "entities": {"*.*": "actuate"}}, "every kind"),
        ({"base_url": "http://ha:8123", "entities": {"l*.x": "hazard"}}, "every kind"),
        ({"base_url": "http://ha:8123", "entities": {"light": "read"}}, "pattern|regex"),
        ({"base_url": "http://ha:8123", "entities": {"light.*": "maybe"}}, "enum value"),
        ({"base_url": "http://u:p@ha:8123", "entities": {"light.*": "read"}}, "pattern|regex"),
    ],
)
def test_a_table_that_allows_nothing_or_everything_is_refused(
    wrong: dict[str, object], told: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=told):
        msgspec.convert(wrong, HomeAssistantSettings)
    allowed = {"base_url": "http://ha:8123", "entities": {"*.*": "read"}}
    assert msgspec.convert(allowed, HomeAssistantSettings).base_url == "http://ha:8123"


def test_the_state_after_a_service_is_known_where_it_can_be() -> None:
    assert state_after("light.desk", "turn_on") == "on"
    assert state_after("lock.front", "unlock") == "unlocked"
    assert state_after("climate.room", "turn_on") == ""
    assert state_after("light.desk", "toggle") == ""
