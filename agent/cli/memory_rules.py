"""`barnacle memory rules`: by what a memory is found and how much each thing counts, in words."""

from argparse import Namespace

from agent.cli import exits, surroundings
from agent.cli.output import say, say_json, say_table
from agent.memory import ranking

# What each weight of the ranking is for; a weight without words is a mistake
WORDS = {
    "WORDS_WEIGHT": "it has the words that were asked, rare ones more (BM25)",
    "MEANING_WEIGHT": "it means what was asked (cosine of the vectors)",
    "CLOSENESS_WEIGHT": "its words are close to those asked, one by one",
    "AROUND_WEIGHT": "the turns beside it fit as well",
    "SESSION_WEIGHT": "its conversation has others that fit",
    "ANSWERS_WEIGHT": "the question was asked right before it",
    "SPEAKER_WEIGHT": "whom the question names has said it",
    "DAY_WEIGHT": "it is of the day that the question names",
    "QUESTION_WEIGHT": "it is itself a question",
    "ANSWER_CUE_WEIGHT": "it has what such a question wants: a time, a number, a place",
}


async def run(arguments: Namespace) -> int:
    settings, _ = surroundings.of(arguments)
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
    say("A memory comes to mind by what speaks for it, each weighed and summed:")
    say()
    say_table([(f"{weight:+.2f}", WORDS[name]) for name, weight in weights.items()], indent="  ")
    say()
    say(
        "What is not known of a memory, as its meaning without a model, is left out and the rest\n"
        f"counts whole. The {ranking.CANDIDATES} that stand out most are looked at closely.\n"
    )
    memory = settings.memory
    say(
        f"Of them at most {memory.recall_limit} reach a prompt (memory.recall_limit), and only\n"
        f"those that fit by {memory.min_score:g} or more (memory.min_score): 0 is nothing of it,\n"
        "1 the same words and meaning.\n"
    )
    say(
        "A memory is seen by its person, its group and its device, and everybody's by all.\n"
        "Who said it stays with it: owner, user, sensor, model, tool, web, most trusted first.\n"
        "An empty search or * lists the newest."
    )
    return exits.OK
