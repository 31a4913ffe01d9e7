"""What finds a memory in `brain.db` finds it in the shared brain, on each kind of server."""

import psycopg
import pytest

from agent.embeddings.base import Embedder
from agent.embeddings.none import NoEmbedder
from agent.memory.base import CONVERSATION, Memory, Scope
from agent.memory.postgres import hits, schema
from agent.memory.postgres.question import PostgresQuestion
from agent.memory.postgres.schema import ServerExtensions
from agent.memory.ranking import Scale
from agent.messages import Provenance
from tests.contracts.memory import MEI
from tests.fakes.embedders import LetterEmbedder
from tests.fakes.postgres import PostgresServer
from tests.memory.conftest import MakeMemory
from tests.memory.postgres.conftest import Open

CHAT = Scope("mei", "chat")
_DAY_S = 86_400.0
# Scores that no reader tells apart
_NEAR = 0.05
TALK = (
    "Tom: the weather was awful",
    "Anna: where is your brother working now?",
    "Tom: in a bakery down the road",
    "Anna: the bus was late again",
    "Tom: my sister adopted two kittens from the shelter",
    "Anna: we repaired the pump in the cellar on Friday",
    "Tom: I am allergic to penicillin, remember that",
    "Anna: the doctor moved to the house beside the station",
)


async def remember(memory: Memory, *contents: str) -> None:
    for content in contents:
        await memory.store(
            "", content, category=CONVERSATION, scope=CHAT, provenance=Provenance.OWNER
        )


async def test_an_answer_is_found_by_the_question_before_it(
    server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    await remember(memory, *TALK)
    found = await memory.recall("where does the brother work", 2, MEI)
    assert "Tom: in a bakery down the road" in [one.content for one in found]


async def test_words_are_found_in_every_form(server: PostgresServer, open_memory: Open) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    await remember(memory, *TALK)
    found = await memory.recall("who was repairing pumps?", 1, MEI)
    assert [one.content for one in found] == [TALK[5]]


async def test_a_named_time_counts(server: PostgresServer, open_memory: Open) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    for number in range(30):
        made = await memory.store(f"k{number}", f"I baked bread number {number}", scope=MEI)
        await memory.mark(made.key, MEI, said_at_s=made.created_at_s - number * _DAY_S)
    found = await memory.recall("what happened yesterday?", 3, MEI)
    assert found[0].key == "k1"
    assert (found[0].score or 0.0) >= 0.4


async def test_a_flood_leaves_a_place_to_people(server: PostgresServer, open_memory: Open) -> None:
    memory = open_memory(server.fresh_url(), NoEmbedder())
    await memory.store("own", "the boiler code is 4711", scope=MEI, provenance=Provenance.OWNER)
    for number in range(120):
        await memory.store(f"p{number}", f"boiler code boiler code {number}", scope=MEI)
    found = await memory.recall("what is the boiler code", 4, MEI)
    assert "own" in [one.key for one in found]


async def test_words_that_only_nearly_fit_let_no_other_stand_out(
    debian_server: PostgresServer, open_memory: Open
) -> None:
    url = debian_server.fresh_url()
    memory = open_memory(url, NoEmbedder())
    sea = await memory.store("sea", "the water was cold", scope=MEI)
    for number in range(30):
        await memory.store(f"k{number}", f"the kitchen of house {number}", scope=MEI)
    async with await psycopg.AsyncConnection.connect(url) as connection:
        question = PostgresQuestion("water kitchan", MEI)
        found = await hits.search(connection, question, ServerExtensions(trigrams=True), [], 50)
    strength = found.strengths[sea.memory_id]
    assert len(found.strengths) == 31
    assert found.scale == Scale.of_sums(1, strength, strength * strength)


async def test_without_pgvector_meaning_orders_what_words_have_found(
    debian_server: PostgresServer, open_memory: Open
) -> None:
    memory = open_memory(debian_server.fresh_url(), LetterEmbedder())
    await memory.store("near", "a storm of thunderclouds is coming", scope=MEI)
    await memory.store("far", "a storm in the glass of water", scope=MEI)
    for asked, wanted in (("storm underclouds", "near"), ("storm lasses waters", "far")):
        found = await memory.recall(asked, 1, MEI)
        assert [one.key for one in found] == [wanted]
    assert (await memory.stats()).details["meaning"] == "of what words find: no pgvector"


async def test_with_the_model_it_finds_as_sqlite_does(
    pgvector_server: PostgresServer,
    make_memory: MakeMemory,
    open_memory: Open,
    real_model: Embedder,
) -> None:
    memories = [make_memory(real_model), open_memory(pgvector_server.fresh_url(), real_model)]
    for memory in memories:
        await remember(memory, *TALK)
    for question in (
        "which medicine must Tom never get",
        "what pets does his sister have",
        "where is the physician now",
        "where does the brother work",
    ):
        found = [await memory.recall(question, len(TALK), MEI) for memory in memories]
        local, shared = ({one.content: one.score for one in each} for each in found)
        assert shared == pytest.approx(local, abs=_NEAR), question
        # Of two that are as good as each other the processor's rounding may decide
        assert local[found[1][0].content] == pytest.approx(found[0][0].score, abs=_NEAR), question


async def test_a_brain_of_an_earlier_version_gets_its_stems(
    server: PostgresServer, open_memory: Open
) -> None:
    url = server.fresh_url()
    connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
    await connection.execute(b"CREATE SCHEMA barnacle")
    await connection.execute(b"SET search_path = barnacle")
    await connection.execute(schema.MIGRATIONS[0].encode())
    await connection.execute(b"CREATE TABLE migrations (done integer PRIMARY KEY)")
    await connection.execute(b"INSERT INTO migrations VALUES (1)")
    await connection.execute(
        b"INSERT INTO memories (owner, person, key, content, category, provenance, source,"
        b" created_at_s, updated_at_s, importance, words) VALUES ('person:mei', 'mei', 'k',"
        b" 'we repaired pumps', 'core', 'owner', '', 1, 1, 0.5, ' we repaired pumps ')"
    )
    await connection.close()
    memory = open_memory(url, LetterEmbedder())
    assert [one.key for one in await memory.recall("repairing a pump", 1, MEI)] == ["k"]
    assert memory._filling is not None
    await memory._filling
    found = await memory.recall("repairing a pump", 1, MEI)
    assert (found[0].score or 0.0) > 0.4
