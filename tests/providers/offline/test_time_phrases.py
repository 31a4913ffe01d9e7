# ruff: noqa: E501  # one sentence a line
import pytest

from agent.providers.offline.time_phrases import TimeKind, time_phrase_of

ALL = tuple(TimeKind)
CASES = [
    ("en", "turn the fan on at half past nine", TimeKind.AT, "09:30 or 21:30", "turn the fan on"),
    ("en", "at 6 a.m. open the valve", TimeKind.AT, "06:00", "open the valve"),
    ("en", "open the valve at 6 p.m. tomorrow", TimeKind.AT, "tomorrow 18:00", "open the valve"),
    ("en", "open the valve tomorrow at 6:15 a.m.", TimeKind.AT, "tomorrow 06:15", "open the valve"),
    ("en", "at 6pm open the valve", TimeKind.AT, "18:00", "open the valve"),
    ("en", "tomorrow evening at eight turn it off", TimeKind.AT, "tomorrow 20:00", "turn it off"),
    ("en", "every weekday at 6:30 am turn on the fan", TimeKind.EVERY, "weekday 06:30", "turn on the fan"),
    ("en", "every 20 minutes turn on the fan", TimeKind.EVERY, "20 minutes", "turn on the fan"),
    ("en", "run the fan until midnight", TimeKind.UNTIL, "00:00", "run the fan"),
    ("de", "schalte am Freitag um neun den Lüfter ein", TimeKind.AT, "friday 09:00 or 21:00", "schalte den Lüfter ein"),
    ("de", "jeden Abend um 9 den Lüfter aus", TimeKind.EVERY, "day 21:00", "den Lüfter aus"),
    ("de", "mach am zischtig um halbi nüni dr Lüfter aa", TimeKind.AT, "tuesday 08:30 or 20:30", "mach dr Lüfter aa"),
    ("de", "jede Abe um sibni dr Lüfter uus", TimeKind.EVERY, "day 19:00", "dr Lüfter uus"),
    ("es", "los viernes a las 6 de la tarde apaga el ventilador", TimeKind.AT, "friday 18:00", "apaga el ventilador"),
    ("es", "cada noche a las 9 apaga el ventilador", TimeKind.EVERY, "day 21:00", "apaga el ventilador"),
    ("zh", "每天晚上九点关风扇", TimeKind.EVERY, "day 21:00", "关风扇"),
    ("zh", "每周五九点打开风扇", TimeKind.EVERY, "friday 09:00 or 21:00", "打开风扇"),
    ("ja", "毎晩9時にファンを消して", TimeKind.EVERY, "day 21:00", "ファンを消して"),
    ("ja", "明日の朝6時にファンをつけて", TimeKind.AT, "tomorrow 06:00", "ファンをつけて"),
    ("ko", "매일 저녁 9시에 팬 꺼", TimeKind.EVERY, "day 21:00", "팬 꺼"),
    ("ko", "9시까지 팬 켜", TimeKind.UNTIL, "09:00 or 21:00", "팬 켜"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "kind", "told", "rest"), CASES)
def test_a_time_is_read_and_the_rest_is_left(
    code: str, text: str, kind: TimeKind, told: str, rest: str
) -> None:
    when = time_phrase_of(text, code, *ALL)
    assert when is not None
    assert (when.kind, when.told, when.rest) == (kind, told, rest)


@pytest.mark.parametrize(
    ("code", "text", "kind", "seconds", "rest"),
    [
        ("en", "in 8 minutes stop the fan", TimeKind.IN, 480, "stop the fan"),
        ("en", "run the fan for 8 seconds", TimeKind.FOR, 8, "run the fan"),
        ("de", "Lüfter 8 Sekunden lang ein", TimeKind.FOR, 8, "Lüfter ein"),
        ("de", "i zwöi Schtund u zäh Minute dr Lüfter uus", TimeKind.IN, 7800, "dr Lüfter uus"),
        ("de", "nach 8 Minuten den Lüfter aus", TimeKind.IN, 480, "den Lüfter aus"),
        ("es", "apaga el ventilador dentro de 8 minutos", TimeKind.IN, 480, "apaga el ventilador"),
        ("zh", "八分钟后关风扇", TimeKind.IN, 480, "关风扇"),
        ("zh", "过8分钟关风扇", TimeKind.IN, 480, "关风扇"),
        ("zh", "打开风扇8秒", TimeKind.FOR, 8, "打开风扇"),
        ("ja", "8分後にファンを消して", TimeKind.IN, 480, "ファンを消して"),
        ("ko", "8분 뒤에 팬 꺼", TimeKind.IN, 480, "팬 꺼"),
        ("ko", "팬을 8초 동안 켜", TimeKind.FOR, 8, "팬을 켜"),
    ],
)
def test_a_length_of_time_says_what_it_is(
    code: str, text: str, kind: TimeKind, seconds: float, rest: str
) -> None:
    when = time_phrase_of(text, code, *ALL)
    assert when is not None
    assert (when.kind, when.seconds, when.rest) == (kind, seconds, rest)


@pytest.mark.parametrize(
    "text",
    ["turn on the fan", "in the morning", "turn on fan 2", "set the fan to 50 %", "the day", ""],
)
def test_where_no_time_is_said_there_is_none(text: str) -> None:
    assert time_phrase_of(text, "en", *ALL) is None


@pytest.mark.parametrize(
    ("code", "text", "told"),
    [
        ("en", "tonight at 8", "today 20:00"),
        ("en", "at 12 tonight", "tomorrow 00:00"),
        ("en", "tonight at 1", "01:00"),
        ("en", "today at midnight", "tomorrow 00:00"),
        ("en", "friday night at 12", "saturday 00:00"),
        ("en", "sunday night at 12", "monday 00:00"),
        ("de", "heute Nacht um 2", "02:00"),
        ("de", "heute um 24 Uhr", "tomorrow 00:00"),
        ("de", "abends um 12", "00:00"),
        ("de", "mittags um 1", "13:00"),
        ("es", "a las 12 de la noche", "00:00"),
        ("es", "mañana a las 12 de la noche", "+2 00:00"),
        ("es", "a las 2 del mediodía", "14:00"),
        ("fr", "cette nuit à 3 heures", "03:00"),
        ("fr", "ce soir à 8 heures", "20:00"),
        ("it", "alle 3 di notte", "03:00"),
        ("nl", "vannacht om 2 uur", "02:00"),
        ("pt", "às 12 da noite", "00:00"),
        ("zh", "今晚十二点", "00:00"),
        ("zh", "中午一点", "13:00"),
        ("ja", "夜12時に", "00:00"),
        ("ko", "저녁 8시에", "20:00"),
    ],
)
def test_a_time_at_night_or_noon_is_in_its_half_of_the_day(code: str, text: str, told: str) -> None:
    when = time_phrase_of(text, code, TimeKind.AT)
    assert when is not None
    assert when.told == told


def test_a_day_alone_has_no_time_of_its_own() -> None:
    when = time_phrase_of("water the plants on monday", "en", *ALL)
    assert when is not None
    assert (when.told, when.has_time) == ("monday 08:00", False)


def test_only_the_kinds_that_are_wanted_are_found() -> None:
    assert time_phrase_of("run the fan for 8 seconds", "en", TimeKind.AT) is None


ABOUT = [
    ("en", "turn the fan on at about 8 pm", "20:00"),
    ("de", "mach den Lüfter gegen 20 Uhr an", "20:00"),
    ("es", "enciende la bomba a eso de las 20", "20:00"),
    ("it", "accendi la pompa intorno alle 20", "20:00"),
    ("zh", "七点左右打开水泵", "07:00 or 19:00"),
    ("zh", "大概七点打开水泵", "07:00 or 19:00"),
    ("ja", "20時くらいにポンプをつけて", "20:00"),
]


@pytest.mark.parametrize(("code", "text", "told"), ABOUT)
def test_about_a_time_is_that_time(code: str, text: str, told: str) -> None:
    when = time_phrase_of(text, code, TimeKind.AT)
    assert when is not None
    assert when.told == told
    assert all(word not in when.rest for word in ("about", "左右", "大概", "くらい", "eso"))


@pytest.mark.parametrize(
    ("text", "code"), [("ファンを四分の三にして", "ja"), ("风扇开到四分之三", "zh")]
)
def test_a_part_of_the_whole_is_no_length(text: str, code: str) -> None:
    assert time_phrase_of(text, code, *TimeKind) is None
