"""The endpoints in OpenAI's shape as callers use them who are no client of a vendor's."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.access.pairing_codes import Invitation
from agent.channels.base import Answer
from agent.gateway.assistants import desk
from agent.gateway.server import CONNECTION_TIMEOUT_S
from agent.messages import Provenance
from tests.fakes.gateway import Answer as HttpAnswer
from tests.fakes.gateway import answer_of
from tests.fakes.lent_agent import lent
from tests.fakes.llm_server import streamed
from tests.waits import wait_until

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
STORY = " ".join(f"word{number}" for number in range(40))
SLOW = streamed(STORY, piece_bytes=300, pause_s=0.05)


def body(text: str, model: str = "barnacle-user", **more: object) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def told(answer: HttpAnswer) -> str:
    """The text of a completion."""
    assert answer.status == 200, answer.said
    return str(json.loads(answer.body)["choices"][0]["message"]["content"])


def error(answer: HttpAnswer) -> Mapping[str, object]:
    """What is wrong, in OpenAI's shape."""
    found: Mapping[str, object] = json.loads(answer.body)["error"]
    assert set(found) == {"message", "type", "param", "code"}
    return found


async def test_nobody_is_answered_without_a_persons_token(tmp_path: Path) -> None:
    more = 'token = "8c1f0e6ad2b94735c6a1be0f9d82e37415d6f8a90b3c2e4d7f6a5b1c0d9e8f72"'
    async with lent(tmp_path, gateway=more) as made:
        nobody = await made.ask("POST", CHAT, body("hello"))
        wrong = await made.ask("POST", CHAT, body("hello"), "wrong-token")
        owners = await made.ask("POST", CHAT, body("hello"), more.split('"')[1])
        listed = await made.ask("GET", "/v1/models")
        assert made.accepted() == []
    assert [one.status for one in (nobody, wrong, owners, listed)] == [401, 401, 403, 401]
    assert error(nobody)["code"] == "invalid_api_key"
    assert "barnacle pair" in str(error(owners)["message"])


async def test_without_the_setting_there_is_no_endpoint(tmp_path: Path) -> None:
    async with lent(tmp_path, assistants=()) as made:
        token = await made.token()
        answer = await made.ask("POST", CHAT, body("hello"), token)
    assert answer.status == 404


async def test_a_guest_has_models_of_their_own_and_no_others(tmp_path: Path) -> None:
    async with lent(tmp_path) as made:
        token = await made.token("guest")
        listed = await made.ask("GET", "/v1/models", token=token)
        users = await made.ask("POST", CHAT, body("what time is it?"), token)
        own = await made.ask("POST", CHAT, body("what time is it?", "barnacle-guest"), token)
        assert made.accepted() == [("what time is it?", Provenance.WEB.value)]
    names = [one["id"] for one in json.loads(listed.body)["data"]]
    assert names == ["barnacle-guest", "barnacle-guest-relay"]
    assert (users.status, error(users)["code"]) == (404, "model_not_found")
    assert "weekday" in told(own)


async def test_words_passed_on_count_less_than_the_callers_own(tmp_path: Path) -> None:
    async with lent(tmp_path) as made:
        token = await made.token()
        await made.ask("POST", CHAT, body("what time is it?"), token)
        await made.ask("POST", CHAT, body("what time is it now?", "barnacle-user-relay"), token)
        trusts = [trust for _, trust in made.accepted()]
    assert trusts == [Provenance.USER.value, Provenance.WEB.value]


async def test_no_program_pairs_anybody_and_no_token_is_the_owners(tmp_path: Path) -> None:
    async with lent(tmp_path) as made:
        token, codes = await made.token(), made.agent.access.codes
        as_owner = codes.make(Invitation(role="owner"))
        paired = told(await made.ask("POST", CHAT, body(f"/pair {as_owner}"), token))
        further = codes.make(Invitation(role="user", person_id="owner"))
        account = await made.ask("POST", "/pair", {"code": further})
        people = {one.name: one.role for one in made.agent.access.people.everyone()}
        # It is not spent, and nothing of it was kept
        assert made.agent.access.codes.spend(as_owner) is not None
        assert made.accepted() == []
    assert "Nobody is paired by a program" in paired
    assert account.status == 403
    assert people["watch"] == "user"


async def test_an_emergency_stop_may_be_set_by_anybody_and_cleared_by_no_program(
    tmp_path: Path,
) -> None:
    async with lent(tmp_path) as made:
        token = await made.token()
        await made.ask("POST", CHAT, body("/estop"), token)
        assert made.agent.stop.is_set
        await made.ask("POST", CHAT, body("/estop clear"), token)
        assert made.agent.stop.is_set


async def test_a_request_of_open_webui_is_answered_as_it_reads_it(tmp_path: Path) -> None:
    """As its source builds them: the whole chat, options of the model, its own headers."""
    wanted = {
        "stream": True,
        "model": "barnacle-user",
        "messages": [
            {"role": "system", "content": "You are helpful."},
            {"role": "user", "content": [{"type": "text", "text": "what time is it?"}]},
        ],
        "stream_options": {"include_usage": True},
        "temperature": 0.7,
        "max_tokens": 128,
        "tools": [],
    }
    async with lent(tmp_path) as made:
        token = await made.token()
        answer = await made.ask(
            *("POST", CHAT, wanted, token),
            X_OpenWebUI_Chat_Id="2c5ea4c0",
            X_OpenWebUI_User_Name="Ann",
            X_OpenWebUI_User_Role="admin",
        )
        people = made.agent.access.people.everyone()
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line for line in events_of(answer) if line.startswith("data: ")]
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    # Whoever it says is at its end, the caller is who was paired
    assert [one.name for one in people] == ["owner", "watch"]


def events_of(answer: HttpAnswer) -> list[str]:
    """The lines of a stream, however it was cut into chunks."""
    return [line for line in answer.said.replace("\r\n", "\n").split("\n") if line]


async def test_a_caller_who_leaves_ends_no_turn_and_finds_the_answer(tmp_path: Path) -> None:
    async with lent(tmp_path, SLOW) as made:
        token = await made.token()
        _, writer = await made.begin("POST", CHAT, body("tell me"), token, Idempotency_Key="a")
        await wait_until(lambda: len(made.model.requests) == 1)
        writer.transport.abort()
        again = await made.ask("POST", CHAT, body("tell me"), token, Idempotency_Key="a")
        assert told(again) == STORY
        await wait_until(lambda: len(made.channel.answers) == 0)
        assert len(made.model.requests) == 1


async def test_a_key_of_another_caller_is_another_key(tmp_path: Path) -> None:
    async with lent(tmp_path) as made:
        for name in ("one", "two"):
            token = await made.token(name=name)
            await made.ask("POST", CHAT, body("hello"), token, Idempotency_Key="same")
        assert len(made.accepted()) == 2


async def test_the_same_words_without_a_key_are_two_requests(tmp_path: Path) -> None:
    async with lent(tmp_path) as made:
        token = await made.token()
        for _ in range(2):
            await made.ask("POST", CHAT, body("hello"), token)
        assert len(made.accepted()) == 2


async def test_requests_beyond_the_places_are_refused(tmp_path: Path) -> None:
    waiting = streamed(STORY, stalls=True)
    async with lent(tmp_path, waiting) as made:
        token = await made.token()
        open_ones = [
            await made.begin("POST", CHAT, body(f"tell me {number}"), token)
            for number in range(desk.MAX_OPEN_OF_ONE)
        ]
        await wait_until(lambda: len(made.channel.answers) == desk.MAX_OPEN_OF_ONE)
        one_more = await made.ask("POST", CHAT, body("tell me"), token)
        for _, writer in open_ones:
            writer.transport.abort()
        await wait_until(lambda: len(made.channel.answers) == 0)
    assert (one_more.status, error(one_more)["type"]) == (429, "rate_limit_error")
    assert one_more.headers["retry-after"] == str(desk.AGAIN_S)


async def test_more_messages_than_a_person_sends_are_refused(tmp_path: Path) -> None:
    async with lent(tmp_path) as made:
        token = await made.token()
        answers = [
            await made.ask("POST", CHAT, body("/help"), token) for _ in range(desk.MAX_MESSAGES + 1)
        ]
    assert [one.status for one in answers] == [200] * desk.MAX_MESSAGES + [429]


async def test_who_loses_access_while_they_wait_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "BEAT_S", 0.1)
    async with lent(tmp_path, streamed(STORY, stalls=True)) as made:
        token = await made.token()
        reader, writer = await made.begin("POST", CHAT, body("tell me"), token)
        await wait_until(lambda: len(made.model.requests) == 1)
        people = made.agent.access.people
        people.revoke(people.named("watch"))
        answer = await answer_of(reader)
        writer.close()
    assert (answer.status, error(answer)["code"]) == (401, "invalid_api_key")


async def test_what_waited_for_a_caller_is_told_with_their_next_answer(tmp_path: Path) -> None:
    async with lent(tmp_path) as made:
        token = await made.token()
        account = made.agent.access.people.named("watch").accounts[0].sender
        await made.announce(account, "The kettle is done.")
        assert told(await made.ask("POST", CHAT, body("/help"), token)).startswith(
            "The kettle is done.\n\n"
        )
        assert "kettle" not in told(await made.ask("POST", CHAT, body("/help"), token))


async def test_no_question_of_the_gate_is_put_to_the_caller(tmp_path: Path) -> None:
    async with lent(tmp_path, answer=Answer.NONE) as made:
        token = await made.token()
        answer = told(await made.ask("POST", CHAT, body("remember that I like tea"), token))
        assert [one.channel for one in made.owner.asked] == ["fake"]
        yes = await made.ask("POST", CHAT, body("yes"), token)
    assert "I will remember" not in answer
    assert yes.status == 200


async def test_a_turn_has_longer_than_other_requests_and_only_for_a_right_token(
    tmp_path: Path,
) -> None:
    async with lent(tmp_path, streamed(STORY, stalls=True)) as made:
        token = await made.token()
        _, paired = await made.begin("POST", CHAT, body("tell me"), token)
        await wait_until(lambda: len(made.model.requests) == 1)
        # Its body is promised and does not come
        _, stranger = await made.begin("POST", CHAT, None, "wrong", transfer_encoding="chunked")
        await wait_until(lambda: len(list(made.gateway.places)) == 2)
        limits = sorted(round(one.due_s - one.begun_s) for one in made.gateway.places)
        for writer in (paired, stranger):
            writer.transport.abort()
        await wait_until(lambda: len(made.gateway.places) == 0)
    assert limits[-1] == desk.ANSWER_S
    assert limits[0] <= CONNECTION_TIMEOUT_S
