import json
import re
from pathlib import Path

import pytest

from agent.access.pairing_codes import CODE_TTL_S, MAX_OPEN, Codes, Invitation
from agent.access.roles import PersonRole
from agent.machine import boot
from tests.fakes.clock import SteppedClock

USER = Invitation(role="user", name="Anna")


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def codes(tmp_path: Path, clock: SteppedClock) -> Codes:
    return Codes(tmp_path / "codes.json", clock)


def test_a_code_is_good_for_one_use(codes: Codes) -> None:
    code = codes.make(USER)
    assert codes.spend(code) == USER
    assert codes.spend(code) is None
    assert USER.rank is PersonRole.USER


def test_a_code_is_readable_and_has_fifty_bits(codes: Codes) -> None:
    made = {codes.make(USER) for _ in range(50)}
    assert len(made) == 50
    assert all(re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}", code) for code in made)


def test_a_code_may_be_typed_as_it_is_read(codes: Codes) -> None:
    code = codes.make(USER)
    typed = code.lower().replace("0", "o").replace("1", "l").replace("-", " ")
    assert codes.spend(typed) == USER


def test_a_code_ends_after_its_time_whatever_the_calendar_says(
    codes: Codes, clock: SteppedClock
) -> None:
    late, early = codes.make(USER), codes.make(USER)
    clock._wall_offset_s += 50 * 365 * 24 * 3600
    clock.advance(CODE_TTL_S - 1)
    assert codes.spend(early) == USER
    clock.advance(2)
    assert codes.spend(late) is None


def test_no_code_outlives_a_start_of_the_machine(
    codes: Codes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = codes.make(USER)
    monkeypatch.setattr(boot, "PATH", tmp_path / "another")
    assert codes.spend(code) is None


def test_another_process_makes_codes_that_count_here(
    codes: Codes, tmp_path: Path, clock: SteppedClock
) -> None:
    assert codes.spend(Codes(tmp_path / "codes.json", clock).make(USER)) == USER


def test_the_code_itself_is_kept_nowhere(codes: Codes, tmp_path: Path) -> None:
    code = codes.make(USER).replace("-", "")
    for path in tmp_path.iterdir():
        assert code not in path.read_text().upper()
        assert path.stat().st_mode & 0o077 == 0


def test_only_the_newest_stay_open(codes: Codes) -> None:
    made = [codes.make(USER) for _ in range(MAX_OPEN + 1)]
    assert codes.spend(made[0]) is None
    assert codes.spend(made[-1]) == USER


def test_what_was_tampered_with_is_no_code(codes: Codes, tmp_path: Path) -> None:
    code = codes.make(USER)
    path = tmp_path / "codes.json"
    tables = json.loads(path.read_bytes())
    tables["codes"]["1"]["invitation"]["role"] = "admin"
    path.write_text(json.dumps(tables))
    assert codes.spend(code) is None
    path.write_text('{"codes": 3}')
    assert codes.spend(code) is None
