"""Statements of a person in six languages: subject, relation and value of a plain sentence.

Surface patterns of English, German, Spanish, French, Chinese and Japanese. Two statements with one
slot and different values contradict each other. Where no pattern fits, nothing is said.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from msgspec import Struct

from agent.memory.text import normalise

# A statement is a sentence; more is a story, whose parts are left to a model
MAX_CHARS = 160
_CLOSING = " .,;:!。，；：！"
# Words before and inside a statement that say nothing of it
_OPENING = re.compile(
    r"^(?:(?:by the way|btw|actually|no|well|so|hey|hi|hello|just so you know|fyi|remember|note"
    r"|please|since \w+|as of \w+|from now on"
    r"|übrigens|nein|also|ab jetzt|seit \w+|por cierto|en realidad"
    r"|ahora|desde \w+|au fait|en fait|non|maintenant|désormais|对了"
    r"|其实|不|顺便说一下|从现在起|现在|ちなみに|実は|いや"
    r"|今は|これからは)[,，、: ]\s*|其实|现在|对了)+"
)
_NOW = re.compile(
    r"\b(?:now|actually|currently|these days|by now|jetzt|nun|inzwischen|mittlerweile|ahora|ya"
    r"|actualmente|maintenant|désormais|actuellement)\b ?|现在|如今|已经|今は|いまは|もう"
)
# What follows is no longer so: "Ana, not Mei", "Bergen instead of Oslo"
_NOT_SO = re.compile(
    r"[,;，、]?\s*(?:\b(?:not|and not|no longer|instead of|rather than|nicht mehr|nicht"
    r"|statt"
    r"|anstatt|y no|no|ya no|en vez de|et non|pas|et plus"
    r"|au lieu de)\b|而不是|不是|不再|ではなく|じゃなく).*\Z"
)
# How a thing is just now, which ends nothing: the pump is on, and on PB3 all the same
_STATE = re.compile(
    r"^(?:on|off|in|out|up|down|over|an|aus|auf|zu)\Z|^(?:on|off) (?:again|all |for |since |until )"
    r"|^on (?:fire|standby|hold|time|sale|strike|duty|call|holiday|vacation|battery|(?:its|the|his"
    r"|her|their) way|the (?:phone|move|mend))\b"
    r"|^in (?:use|order|operation|service|stock|danger|trouble|need|repair|pieces|progress|motion"
    r"|charge|love|pain|a (?:good|bad|hurry|meeting)|good|bad|perfect)\b"
    r"|^at (?:rest|work|risk|fault|its limit|full)\b"
    r"|^under (?:repair|control|pressure|warranty|load|construction)\b"
    r"|^(?:in (?:betrieb|ordnung|gefahr|reparatur|arbeit|urlaub|eile|gang|bewegung|rente)"
    r"|im (?:einsatz|urlaub|gang|stress|eimer|leerlauf|dienst)"
    r"|am (?:laufen|arbeiten|ende|laden|apparat)"
    r"|auf (?:standby|reisen|lager|arbeit|dienstreise)|unter (?:druck|strom|kontrolle|last))\b"
    r"|^en (?:marcha|funcionamiento|orden|línea|venta|uso|reparación|peligro|espera|marche|panne"
    r"|route|service|cours|ligne|colère|vacances|vente|retard|charge|réparation|attente|danger)\b"
    r"|^(?:à (?:l'arrêt|jour|vendre|l'heure)|au (?:repos|travail|chômage))\b"
    r"|^(?:正?在)(?:运行|工作|运转|漏|响|充电|睡|开会|上班|度假|生气|用|修|下雨)"
)
# Where a wire goes: true beside the room that the thing is in
_PIN = re.compile(
    r"^(?:(?:on|at|an|auf|en|in|à|sur) )?(?:(?:the |dem |den |el |la |le )?(?:pin|gpio|port"
    r"|broche|pata|puerto|address|adresse|dirección)(?: \w{1,6}|\d{1,3})|p[a-k]\d{1,2}|gp\d{1,2}"
    r"|0x[0-9a-f]{1,4})\b"
    r"|^(?:on|at|an|en|à|sur) [ad]\d{1,2}\b|^在?(?:引脚)?p[a-k]\d{1,2}"
)
# A value of a class takes the place of one of the same class alone: the car is red, and broken
_TIME = re.compile(
    r"^(?:at|um) (?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|eins|zwei|drei"
    r"|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)\Z"
    r"|\d{1,2}[:.h]\d\d|\d{1,2} ?(?:am|pm|uhr|h|heures?|点|时|時)\b|^(?:at|um|a las?|à) \d"
    r"|\d+ ?[点時]|\bnoon|midnight|mittag|mediodía|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\b"
    r"|\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)s?\b"
    r"|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b|(?:周|星期)[一二三四五六日天]|[月火水木金土日]曜"
)
_PLACE = re.compile(
    r"^(?:in|at|on|under|behind|next to|near|inside|beside|above|im|am|auf|unter|hinter|neben|bei"
    r"|über|en|sobre|debajo|detrás|junto|dans|sur|sous|derrière|à|au|chez|près) \w"
    r"|^在|(?:里|上|下|边|旁)\Z"
    r"|(?:の中|の上|の下|の横)(?:に|\Z)"
)
_NUMBER = re.compile(r"\d")
_COLOUR = re.compile(
    r"^(?:red|blue|green|yellow|black|white|gr[ae]y|brown|orange|pink|purple|rot|blau|grün|gelb"
    r"|schwarz|weiss|grau|braun|rosa|lila|roj[oa]|azul|verde|amarill[oa]|negr[oa]|blanc[oa]|gris"
    r"|marrón|rouge|bleue?|verte?|jaune|noire?|blanche?|marron)\Z|^(?:红|蓝|绿|黄|黑|白|灰)色?的?\Z"
    r"|^(?:赤|青|緑|黄|黒|白|灰)色?い?\Z"
)
# Beside these, whatever is no name may be true as well: a lot, home, night
_NAMED = frozenset({"i drive", "i work"})
# A name is a word or two: "the pump is broken since the storm" is none
_NAME_WORDS, _NAME_CHARS = 2, 24
# Things that are one at a time, whatever their value looks like
_SINGLE = re.compile(
    r"password|passcode|\bcode\b|\bpin\b|favou?rite|address|birthday|\bjob\b|profession|email"
    r"|number|landlord|boss|dentist|doctor|plumber|size|nickname|bedtime|appointment|meeting"
    r"|passwort|kennwort|lieblings|adresse|geburtstag|beruf|nummer|vermieter|chef|arzt|ärztin"
    r"|grösse|termin|contraseña|clave|favorit|dirección|cumpleaños|trabajo|número"
    r"|jef[ea]|médic|talla|cita|mot de passe|préféré|anniversaire|métier|travail"
    r"|numéro|patron|médecin|dentiste|taille|rendez-vous|密码|最喜欢|地址|生日|工作|职业|号码|老板|医生"
    r"|尺码|约会|会议|パスワード|暗証|好きな|住所|誕生日|仕事|職業|番号|上司|医者|サイズ|予約|会議"
)
# Whoever is one of these has a name; whatever else is said of them is true beside it
_SOMEBODY = re.compile(
    r"landlord|boss|dentist|doctor|plumber|vermieter|chef|arzt|ärztin|jef[ea]|médic|patron|médecin"
    r"|dentiste"
)
# Of these, a time and a place are true beside each other, and beside a name or a word
_BOTH = re.compile(
    rf"{_SOMEBODY.pattern}|appointment|meeting|termin|\bcita|rendez-vous|约会|会议|老板|医生|予約|会議"
    r"|上司|医者|password|passcode|\bcode\b|passwort|kennwort|contraseña|clave|mot de passe|密码"
    r"|パスワード|暗証"
)
_DIET = (
    r"(?:an? |ein |eine |un |une )?(?P<v>(?:not )?(?:vegan|vegetarian|pescatarian|veganer(?:in)?"
    r"|vegetarier(?:in)?|vegan[oae]|vegetarian[oa]|végane|végétarien(?:ne)?|omnivore?)\w*)"
)
_S = r"(?P<s>[\w' -]{2,40}?)"
_V = r"(?P<v>.+)"
# A place that is a town: a flat or a floor in it is true beside it
_TOWN = (
    r"(?P<v>(?!(?:an?|une?|einem|einer|un|una) |[\w -]*\b(?:floor|storey|stock|piso|étage)\b).+)"
)
_D = r"(?:meine?|unsere?|der|die|das)"

# Slot by pattern; `{s}` is the subject. The first that fits counts
_PATTERNS: Sequence[tuple[str, str]] = (
    # English
    (rf"(?:i am|i'm) {_DIET}", "i diet"),
    (
        rf"(?:i|we) (?:live|moved|have moved|am living|are living) (?:in|to|at|on|near) {_TOWN}",
        "i live",
    ),
    (rf"(?:i|we) (?:work|am working|started working|started) (?:at|for) {_V}", "i work"),
    (rf"(?:i|we) (?:work|am working|started working) as (?:an? )?{_V}", "i job"),
    (rf"(?:i|we) (?:get up|wake up) at {_V}", "i wake"),
    (rf"(?:i|we) go to bed at {_V}", "i bed"),
    (rf"(?:i|we) drive (?:an? |the )?{_V}", "i drive"),
    (rf"(?:i|we) (?:take|must take|have to take) my {_S} at {_V}", "i take {s}"),
    (rf"(?:my |our |the )?{_S} (?:lives|moved|has moved) (?:in|to|at|near) {_V}", "{s} live"),
    (rf"(?:my |our |the )?{_S} works (?:at|for|with) {_V}", "{s} work"),
    (rf"(?:my |our |the )?{_S}(?:'s)? name is {_V}", "{s}"),
    (rf"(?:my |our |the ){_S} (?:is called|is named|is|are|(?:was |has )?moved to) {_V}", "{s}"),
    (rf"(?P<s>[\w-]+'s? [\w' -]{{2,30}}?) (?:is|are) {_V}", "{s}"),
    # German
    (rf"(?:ich bin|wir sind) {_DIET}", "i diet"),
    (rf"(?:ich wohne|wir wohnen|ich lebe|wir leben) (?:in|im|am|bei) {_TOWN}", "i live"),
    (r"(?:ich bin|wir sind) nach (?P<v>.+?) (?:um)?gezogen", "i live"),
    (rf"(?:ich arbeite|wir arbeiten) als {_V}", "i job"),
    (rf"(?:ich arbeite|wir arbeiten) (?:bei|für) {_V}", "i work"),
    (r"(?:ich stehe|wir stehen) um (?P<v>.+?) auf", "i wake"),
    (r"(?:ich gehe|wir gehen) um (?P<v>.+?) ins bett", "i bed"),
    (rf"(?:ich fahre|wir fahren) (?:einen?|den|das|die) {_V}", "i drive"),
    (rf"(?:ich nehme) meine {_S} um {_V}", "i take {s}"),
    (rf"(?:meine?|unsere?|der|die|das) {_S} (?:wohnt|lebt) (?:in|im) {_V}", "{s} live"),
    (rf"(?:meine?|unsere?|der|die|das) {_S} arbeitet (?:bei|für) {_V}", "{s} work"),
    (rf"{_D} {_S} (?:ist|heisst|lautet|liegt|liegen|steht|hängt|sind) {_V}", "{s}"),
    # Spanish
    (rf"(?:soy|somos) {_DIET}", "i diet"),
    (rf"(?:yo )?(?:vivo|vivimos|me mudé|nos mudamos|me he mudado) (?:en|a) {_TOWN}", "i live"),
    (rf"(?:yo )?(?:trabajo|trabajamos) (?:de|como) {_V}", "i job"),
    (rf"(?:yo )?(?:trabajo|trabajamos) (?:en|para) {_V}", "i work"),
    (rf"(?:yo )?me levanto a {_V}", "i wake"),
    (rf"(?:yo )?me acuesto a {_V}", "i bed"),
    (rf"(?:yo )?(?:conduzco) (?:un|una|el|la) {_V}", "i drive"),
    (rf"(?:yo )?tomo mis {_S} a {_V}", "i take {s}"),
    (rf"(?:mi|nuestr[oa]|el|la) {_S} (?:vive|se mudó) (?:en|a) {_V}", "{s} live"),
    (rf"(?:mi|nuestr[oa]|el|la) {_S} trabaja (?:en|para) {_V}", "{s} work"),
    (rf"(?:mis?|nuestr[oa]s?|el|la|los|las) {_S} (?:es|son|se llama|está|están) {_V}", "{s}"),
    # French
    (rf"(?:je suis|nous sommes) {_DIET}", "i diet"),
    (
        rf"(?:j'habite|je vis|nous habitons|nous vivons|j'ai déménagé) (?:à|au|en|dans) {_TOWN}",
        "i live",
    ),
    (rf"(?:je travaille|nous travaillons) comme {_V}", "i job"),
    (rf"(?:je travaille|nous travaillons) (?:chez|pour|à|dans) {_V}", "i work"),
    (rf"je me lève à {_V}", "i wake"),
    (rf"je me couche à {_V}", "i bed"),
    (rf"je conduis (?:un|une|la|le) {_V}", "i drive"),
    (rf"je prends mes {_S} à {_V}", "i take {s}"),
    (rf"(?:mon|ma|notre|le|la) {_S} (?:habite|vit) (?:à|au|en|dans) {_V}", "{s} live"),
    (rf"(?:mon|ma|notre|le|la) {_S} travaille (?:chez|pour|à) {_V}", "{s} work"),
    (rf"(?:mon|ma|mes|notre|le |la |les |l')\s?{_S} (?:est|sont|s'appelle|se trouve) {_V}", "{s}"),
    # Chinese
    (r"我(?:们)?(?:是|吃)(?P<v>素食者|纯素|素|荤|纯素食者|杂食)", "i diet"),
    (r"我(?:们)?(?:住在|搬到了?|住到)(?P<v>.+?)了?", "i live"),
    (r"我(?:们)?在(?P<v>.+?)(?:工作|上班)", "i work"),
    (r"我(?:们)?(?:是|当)(?:一名|一个)(?P<v>.+)", "i job"),
    (r"我(?:们)?(?:早上)?(?P<v>.+?)起床", "i wake"),
    (r"我(?:们)?(?:晚上)?(?P<v>.+?)睡觉", "i bed"),
    (r"我(?:们)?开(?:的是|一[辆部台])(?P<v>.+)", "i drive"),
    (r"我(?:们)?(?P<v>.+?)吃(?P<s>药|维生素)", "i take {s}"),
    (r"(?:我(?:们)?的?)?(?P<s>[^我你他她,，]{1,12}?)(?:住在|搬到了?)(?P<v>.+)", "{s} live"),
    (r"(?:我(?:们)?的?)?(?P<s>[^我你他她,，]{1,12}?)在(?P<v>.+?)(?:工作|上班)", "{s} work"),
    (
        r"(?:我(?:们)?的?)?(?P<s>[^我你他她,，]{1,12}?)(?:的名字)?(?:叫|是|改成了?|换成了?)(?P<v>.+)",
        "{s}",
    ),
    (r"(?:我(?:们)?的?)?(?P<s>[^我你他她,，]{1,12}?)(?:放)?(?P<v>在.+)", "{s}"),
    # Japanese
    (r"(?:私|僕|俺)は(?P<v>ビーガン|ベジタリアン|菜食主義者?|雑食)(?:です|だ)?", "i diet"),
    (
        r"(?:私(?:たち)?は)?(?P<v>[^はがの]+?)に(?:住んでいます|住んでいる|引っ越しました|引っ越した)",
        "i live",
    ),
    (r"(?:私(?:たち)?は)?(?P<v>[^はが]+?)で(?:働いています|働いている)", "i work"),
    (r"(?:私は)?(?P<v>[^はが]+?)として働いています", "i job"),
    (r"(?:私は)?(?P<v>[^はが]+?)に起きます", "i wake"),
    (r"(?:私は)?(?P<v>[^はが]+?)に寝ます", "i bed"),
    (r"(?:私は)?(?P<v>[^はが]+?)に乗っています", "i drive"),
    (r"(?:私は)?(?P<v>[^はが]+?)に(?P<s>薬|ビタミン)を飲みます", "i take {s}"),
    (
        r"(?:(?:私|うち)の)?(?P<s>[^はが、]{1,14})は(?P<v>.+?)に(?:住んでいます|引っ越しました)",
        "{s} live",
    ),
    (r"(?:(?:私|うち)の)?(?P<s>[^はが、]{1,14})は(?P<v>.+?)で働いています", "{s} work"),
    (
        (
            r"(?:(?:私|うち)の)?(?P<s>[^はが、]{1,14})(?:の名前)?は(?P<v>.+?)"
            r"(?:です|だ|といいます|と言います|にあります|に変わりました|になりました)"
        ),
        "{s}",
    ),
)
# What two ways of asking and answering call the same thing
_ASKING = re.compile(r"[?？¿؟]")
# Standing wishes and rules, and what is so for long
_LASTING = re.compile(
    r"\b(?:must|never|always|every|whenever|if|when|don't|do not|should|prefers?"
    r"|likes?|loves?|hates?"
    r"|allergic"
    r"|allergy|birthday|have|has|own|need|want|called"
    r"|muss|müssen|nie|niemals|immer|jede[nrs]?|wenn|falls|soll|mag|liebe|hasse|allergisch|habe"
    r"|haben|hat"
    r"|brauche|darf|dürfen|debo|debe|nunca|siempre|cada|cuando|si|prefiero|me gusta|odio"
    r"|alérgic[oa]|tengo|tenemos|tiene|necesito|dois|doit|jamais|toujours|chaque|quand|préfère|aime|déteste"
    r"|allergique|ai|avons|faut)\b|\bj'ai\b"
    r"|必须|从不|总是|每|如果|当.*时|不要|喜欢|讨厌|过敏|有|需要|不能|必ず|いつも|決して|毎|たら|とき|好き|嫌い|アレルギー"
    r"|が.{0,6}(?:います|あります)|必要|ないで|飲み"
)


class Statement(Struct, frozen=True):
    """A statement; `slot` names its subject and relation, `value` is the rest."""

    slot: str
    value: str


@lru_cache(maxsize=4096)
def statement_of(text: str) -> Statement | None:
    """Return the statement that a sentence makes, if it makes one."""
    plain = _plain(text)
    if not plain or len(plain) > MAX_CHARS or _ASKING.search(text):
        return None
    for pattern, slot in _compiled():
        if found := pattern.fullmatch(plain):
            parts = found.groupdict()
            return _statement(slot, parts.get("s") or "", parts["v"].strip(_CLOSING), text)
    return None


def is_lasting(text: str) -> bool:
    """Return true if a sentence says what is so for longer than a day, or is to be so."""
    if _ASKING.search(text) or len(text) > MAX_CHARS:
        return False
    return statement_of(text) is not None or _LASTING.search(_plain(text)) is not None


def contradicts(one: str, other: str) -> bool:
    """Return true if both sentences are about the same and say different things."""
    mine, theirs = statement_of(one), statement_of(other)
    if mine is None or theirs is None or mine.slot != theirs.slot:
        return False
    return mine.value != theirs.value


@cache
def _compiled() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), slot) for pattern, slot in _PATTERNS]


def _plain(text: str) -> str:
    flat = " ".join(normalise(text).replace("’", "'").split()).strip(_CLOSING)
    opened = _OPENING.sub("", f"{flat} ").strip(_CLOSING)
    return _NOW.sub("", _NOT_SO.sub("", opened)).strip(_CLOSING)


def _statement(slot: str, subject: str, value: str, text: str) -> Statement | None:
    subject = subject.strip(" '").removesuffix("'s")
    named = slot.format(s=subject)
    if slot in _NAMED and not _begins_with_name(value, text):
        return None
    if slot == "{s}":
        kind = _kind(subject, value, text)
        if kind is None:
            return None
        named = f"{named} {kind}"
    return Statement(named, value) if value else None


def _begins_with_name(value: str, text: str) -> bool:
    """Return true for a value with a capital in the text: "a lot" is no car."""
    first = re.escape(value.split(maxsplit=1)[0]) if value else ""
    written = re.search(rf"(?<!\w){first}(?!\w)", text, re.IGNORECASE)
    return value.upper() == value or (written is not None and written[0][:1].isupper())


def _kind(subject: str, value: str, text: str) -> str | None:
    """Return the class of a value; None where another value may be true beside it."""
    if _STATE.search(value):
        return None
    classes = (
        ("pin", _PIN),
        ("time", _TIME),
        ("place", _PLACE),
        ("number", _NUMBER),
        ("colour", _COLOUR),
    )
    found = next((name for name, pattern in classes if pattern.search(value)), None)
    if not _SINGLE.search(subject):
        return found or ("name" if _is_name(value, text) else None)
    if found in {"time", "place"} and _BOTH.search(subject):
        return found
    is_told = not _SOMEBODY.search(subject) or _begins_with_name(value, text)
    return "it" if is_told else None


def _is_name(value: str, text: str) -> bool:
    """Return true for a short value with a capital in the text, or in a script without case."""
    if len(value.split()) > _NAME_WORDS or len(value) > _NAME_CHARS:
        return False
    if value.upper() == value:
        return True
    word = re.escape(value.rsplit(maxsplit=1)[-1])
    written = re.search(rf"(?<!\w){word}(?!\w)", text, re.IGNORECASE)
    return written is not None and written[0][0].isupper()
