"""`barnacle memory rules`: by what a memory is found and how much each thing counts, in words."""

from argparse import Namespace

from agent.cli import configuration, exits
from agent.cli.output import say, say_json, say_table
from agent.memory import ranking

# What each weight of the ranking is for; a weight without words is a mistake
WORDS = {
    "WORDS_WEIGHT": "it has the words of the question; rare words count more (BM25)",
    "MEANING_WEIGHT": "it has the meaning of the question (cosine of the vectors)",
    "CLOSENESS_WEIGHT": "its words resemble those of the question, one by one",
    "AROUND_WEIGHT": "the turns beside it match as well",
    "SESSION_WEIGHT": "other turns of its conversation match",
    "ANSWERS_WEIGHT": "the question was asked right before it",
    "SPEAKER_WEIGHT": "the person named in the question said it",
    "DAY_WEIGHT": "it is from the day named in the question",
    "TIME_WEIGHT": "it is from the time named in the question: yesterday, last week",
    "QUESTION_WEIGHT": "it is itself a question",
    "ANSWER_CUE_WEIGHT": "it has what the question asks for: a time, a number, a place",
}


async def run(arguments: Namespace) -> int:
    settings, _ = configuration.load(arguments)
    weights = {name: float(getattr(ranking, name)) for name in WORDS if hasattr(ranking, name)}
    if arguments.json:
        say_json(
            {
                "weights": {
                    name.removesuffix("_WEIGHT").lower(): one for name, one in weights.items()
                },
                "candidates": ranking.CANDIDATES,
                "min_score": settings.memory.min_score,
                "recall_limit": settings.memory.recall_limit,
            }
        )
        return exits.OK
    say("A memory is ranked by the weighted sum of these signals:")
    say()
    say_table([(f"{weight:+.2f}", WORDS[name]) for name, weight in weights.items()], indent="  ")
    say()
    say(
        "An unknown signal, such as the meaning without a model, is left out, and "
        "the others\n"
        f"count in full. The best {ranking.CANDIDATES} candidates are ranked in "
        "detail.\n"
    )
    memory = settings.memory
    say(
        f"At most {memory.recall_limit} of them enter a prompt (memory.recall_limit), "
        "and only those\n"
        f"that score at least {memory.min_score:g} (memory.min_score): 0 means "
        "unrelated, 1 means\n"
        "the same words and meaning.\n"
    )
    say(
        "A memory is visible to its person, its group and its device; a memory for "
        "everybody, to all.\n"
        "It keeps its source: owner, user, sensor, model, tool, web, most trusted "
        "first.\n"
        "An empty search or * lists the newest.\n"
    )
    return exits.OK
