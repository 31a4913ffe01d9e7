"""Parts of an AIEOS identity that a model is told: a table by their names in the file.

AIEOS 1.1 and 1.2 are the same in them. Not told are keys, addresses and wallets of the entity, and
what only speech and pictures use. Skills are not either: they are what is here, not a text.
"""

import enum
from collections.abc import Mapping
from typing import TypeAlias


class Kind(enum.Enum):
    """Kind of a value."""

    TEXT = "a text"
    # A single text counts as a list of one
    TEXTS = "a list of texts"
    SHARE = "a number from 0 to 1"
    COUNT = "a whole number from 0 to 1,000,000"
    FLAG = "true or false"
    EVENTS = "a list of objects with year, event and impact"


Part: TypeAlias = "Kind | Mapping[str, Part]"

_TEXT, _TEXTS, _SHARE, _COUNT, _FLAG = Kind.TEXT, Kind.TEXTS, Kind.SHARE, Kind.COUNT, Kind.FLAG


def _all(kind: Kind, names: str) -> dict[str, Part]:
    return dict.fromkeys(names.split(), kind)


EVENT: Mapping[str, Part] = {"year": _COUNT, **_all(_TEXT, "event impact")}
TOLD: Mapping[str, Mapping[str, Part]] = {
    "identity": {
        "names": _all(_TEXT, "first middle last full nickname"),
        "bio": {
            **_all(_TEXT, "birthday"),
            **_all(_COUNT, "age_biological age_perceived"),
            **_all(_TEXT, "gender"),
        },
        "origin": {
            **_all(_TEXT, "nationality ethnicity"),
            "birthplace": _all(_TEXT, "city country"),
        },
        "residence": _all(_TEXT, "current_city current_country dwelling_type"),
    },
    "psychology": {
        "neural_matrix": _all(_SHARE, "creativity empathy logic adaptability charisma reliability"),
        "traits": {
            "ocean": _all(
                _SHARE, "openness conscientiousness extraversion agreeableness neuroticism"
            ),
            **_all(_TEXT, "mbti enneagram temperament"),
        },
        "moral_compass": {
            "alignment": _TEXT,
            "core_values": _TEXTS,
            "conflict_resolution_style": _TEXT,
        },
        "mental_patterns": _all(_TEXT, "decision_making_style attention_span learning_style"),
        "emotional_profile": {
            "base_mood": _TEXT,
            "volatility": _SHARE,
            "resilience": _TEXT,
            "triggers": _all(_TEXTS, "joy anger sadness"),
        },
        "idiosyncrasies": _all(_TEXTS, "phobias obsessions tics"),
    },
    "linguistics": {
        "text_style": {
            **_all(_SHARE, "formality_level verbosity_level"),
            "vocabulary_level": _TEXT,
            "slang_usage": _FLAG,
            "style_descriptors": _TEXTS,
        },
        "syntax": {
            "sentence_structure": _TEXT,
            "use_contractions": _FLAG,
            "active_passive_ratio": _SHARE,
        },
        "interaction": {
            "turn_taking": _TEXT,
            "dominance_score": _SHARE,
            "emotional_coloring": _TEXT,
        },
        "idiolect": {**_all(_TEXTS, "catchphrases forbidden_words"), "hesitation_markers": _FLAG},
    },
    "motivations": {
        "core_drive": _TEXT,
        "goals": _all(_TEXTS, "short_term long_term"),
        "fears": _all(_TEXTS, "rational irrational"),
    },
    "interests": {
        "hobbies": _TEXTS,
        "favorites": _all(_TEXT, "music_genre book movie color food season"),
        "aversions": _TEXTS,
        "lifestyle": _all(_TEXT, "diet sleep_schedule digital_habits"),
    },
    "history": {
        "origin_story": _TEXT,
        "education": {**_all(_TEXT, "level field institution"), "graduation_year": _COUNT},
        "occupation": {
            **_all(_TEXT, "title industry"),
            "years_experience": _COUNT,
            "previous_jobs": _TEXTS,
        },
        "family": _all(_TEXT, "relationship_status parents siblings children pets"),
        "key_life_events": Kind.EVENTS,
    },
    "physicality": {
        "face": {
            "shape": _TEXT,
            "skin": {**_all(_TEXT, "tone texture"), "details": _TEXTS},
            "eyes": _all(_TEXT, "color shape eyebrows corrective_lenses"),
            "hair": _all(_TEXT, "color style texture"),
            **_all(_TEXT, "facial_hair nose mouth"),
            "distinguishing_features": _TEXTS,
        },
        "body": {
            **_all(_COUNT, "height_cm weight_kg"),
            **_all(_TEXT, "somatotype build_description posture"),
            "scars_tattoos": _TEXTS,
        },
        "style": {
            "aesthetic_archetype": _TEXT,
            **_all(_TEXTS, "clothing_preferences accessories color_palette"),
        },
    },
}
# Of the standard, and nothing for a prompt
UNTOLD = frozenset(
    {
        *("standard", "metadata", "presence", "capabilities"),
        *("linguistics.voice", "physicality.image_prompts"),
    }
)
