import pytest

from agent.memory.statement import MAX_CHARS, contradicts, is_lasting, statement_of


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("my sister is Mei", "No, my sister is Ana, not Mei"),
        ("I live in Oslo", "I moved to Bergen"),
        ("I live in Oslo", "I live in the Netherlands now"),
        ("I'm vegan", "I'm vegetarian now"),
        ("I drive a Golf", "I drive a Tesla now"),
        ("I work at Siemens", "I work for Bosch now"),
        ("the wifi password is tulip42", "The wifi password is rose99."),
        ("the key is in the drawer", "the key is on the shelf"),
        ("Ana's birthday is 5 May", "Ana's birthday is 6 May"),
        ("the meeting is at nine", "the meeting is at 10:30 now"),
        ("my appointment is on Friday", "my appointment is on Monday"),
        ("my boss is Anna", "my boss is Bob"),
        ("the lamp is pink", "the lamp is red"),
        ("the pump is on D5", "the pump is on D6 now"),
        ("the sensor is at 0x40", "the sensor is at 0x41"),
        ("die Pumpe ist an PB3", "die Pumpe ist an PA0"),
        ("the lamp is on the table", "the lamp is on the shelf"),
        ("mein Arzt ist Dr. Huber", "mein Arzt ist Frau Dr. Maier"),
        ("my phone is a Pixel", "my phone is a Galaxy"),
        ("Meine Schwester heißt Mei", "Nein, meine Schwester heißt Ana"),
        ("ich wohne in Oslo", "ich bin nach Bergen gezogen"),
        ("Mi hermana se llama Mei", "mi hermana se llama Ana"),
        ("J'habite à Oslo", "j'ai déménagé à Bergen"),
        ("我妹妹叫小美", "我妹妹叫安娜"),
        ("大阪に住んでいます", "京都に引っ越しました"),
    ],
)
def test_two_values_of_one_thing_contradict(earlier: str, later: str) -> None:
    assert contradicts(later, earlier)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("my sister is Mei", "my brother is Tom"),
        ("my sister is Mei", "my sister is 30"),
        ("my sister is Mei", "my sister lives in Oslo"),
        ("my sister is Mei", "My sister's name is Mei"),
        ("the car is red", "the car is in the garage"),
        ("the pump is on D5", "the pump is broken since the storm"),
        ("the pump is on PB3", "the pump is on"),
        ("the pump is on PB3", "The pump is on again"),
        ("the pump is on PB3", "the pump is in the cellar"),
        ("the sensor is at 0x40", "the sensor is at 25 degrees"),
        ("the lamp is on the table", "the lamp is on now"),
        ("die Pumpe ist im Keller", "die Pumpe ist in Ordnung"),
        ("die Pumpe ist an PB3", "die Pumpe ist 3 Jahre alt"),
        ("la pompe est dans la cave", "la pompe est en panne"),
        ("la bomba está en el sótano", "la bomba está en marcha"),
        ("水泵在地下室", "水泵在运行"),
        ("my doctor is Dr. Smith", "my doctor is nice"),
        ("mein Arzt ist Dr. Huber", "mein Arzt ist im Urlaub"),
        ("the wifi password is tulip42", "the wifi password is on the fridge"),
        ("my phone is a Pixel", "my phone is broken"),
        ("my appointment is on Friday", "my appointment is at the hospital"),
        ("the meeting is at 3 pm", "the meeting is in room 5"),
        ("mein Termin ist am Freitag", "mein Termin ist im Krankenhaus"),
        ("mi cita es el lunes", "mi cita es en el hospital"),
        ("我的会议是星期五", "我的会议在三楼"),
        ("my boss is Anna", "my boss is on holiday"),
        ("I'm vegan", "I'm allergic to nuts"),
        ("I like green tea", "I am allergic to penicillin"),
        ("I work at Siemens", "I work as a nurse"),
        ("I work at Siemens", "I work at night"),
        ("I work at Siemens", "I work with Tom"),
        ("ich arbeite bei Siemens", "ich arbeite im Garten"),
        ("I drive a Golf", "I drive a lot"),
        ("I drive a Golf", "I drive to work every day"),
        ("我开一辆高尔夫", "我开会了"),
        ("I live in Oslo", "I live on the third floor"),
        ("I live in Oslo", "We live in a small flat"),
        ("ich wohne in Oslo", "ich wohne im dritten Stock"),
        ("ich wohne in Oslo", "wir wohnen in einer Altbauwohnung"),
        ("vivo en Oslo", "vivo en el tercer piso"),
        ("J'habite à Oslo", "j'habite au troisième étage"),
        ("my sister is Mei", "is my sister Ana?"),
        ("the cat is called Lin", "the dog is called Bo"),
    ],
)
def test_what_may_be_true_beside_it_does_not(one: str, other: str) -> None:
    assert not contradicts(one, other)


@pytest.mark.parametrize(
    "text", ["", "ok", "turn on the lamp", "x " * MAX_CHARS, "what is my name?"]
)
def test_what_states_nothing_has_no_slot(text: str) -> None:
    assert statement_of(text) is None


@pytest.mark.parametrize(
    "text", ["I must take my pills at 8", "I'm vegan", "wir haben zwei Katzen", "我对坚果过敏"]
)
def test_rules_and_lasting_facts_are_known(text: str) -> None:
    assert is_lasting(text)


@pytest.mark.parametrize("text", ["turn on the lamp", "how are you?", "何時ですか？", "bonjour"])
def test_orders_and_questions_do_not_last(text: str) -> None:
    assert not is_lasting(text)
