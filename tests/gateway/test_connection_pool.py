import asyncio
from dataclasses import dataclass, field

from agent.gateway.connection_pool import (
    MAX_CUTS,
    MAX_PLACES,
    MAX_PLACES_OF_ONE,
    QUICK_PLACES,
    QUICK_S,
    GatewayConnectionPool,
)
from tests.waits import wait_until

LATE_S = 1000.0


@dataclass(eq=False)
class FakeHolder:
    """A connection that only holds its place."""

    places: GatewayConnectionPool
    who: str = "a"
    begun_s: float = 0.0
    is_known: bool = False
    due_s: float = LATE_S
    gives_way: bool = True
    is_cut: bool = field(default=False)

    def __post_init__(self) -> None:
        self.places.add(self)

    def cut(self) -> None:
        self.is_cut = True
        self.places.discard(self)


def cut_of(holders: list[FakeHolder]) -> list[int]:
    return [number for number, one in enumerate(holders) if one.is_cut]


def test_whoever_is_late_is_cut_and_nobody_else() -> None:
    places = GatewayConnectionPool()
    holders = [FakeHolder(places, due_s=due_s) for due_s in (5.0, 5.1, 4.9)]
    places.sweep(4.0)
    assert cut_of(holders) == []
    places.sweep(5.0)
    assert cut_of(holders) == [0, 2]


def test_not_all_are_cut_at_once() -> None:
    places = GatewayConnectionPool()
    holders = [FakeHolder(places, due_s=1.0) for _ in range(MAX_CUTS + 5)]
    places.sweep(1.0)
    assert cut_of(holders) == list(range(MAX_CUTS))
    places.sweep(1.0)
    assert len(places) == 0


def test_of_one_caller_who_holds_too_many_the_oldest_goes() -> None:
    places = GatewayConnectionPool()
    others = [FakeHolder(places, "other") for _ in range(3)]
    holders = [FakeHolder(places, begun_s=-number) for number in range(MAX_PLACES_OF_ONE + 2)]
    places.sweep(QUICK_S)
    assert cut_of(holders) == [MAX_PLACES_OF_ONE, MAX_PLACES_OF_ONE + 1]
    assert cut_of(others) == []
    places.sweep(QUICK_S)
    assert len(places) == MAX_PLACES_OF_ONE + 3


def test_of_all_callers_the_one_who_holds_most_gives_way() -> None:
    places = GatewayConnectionPool()
    few = [FakeHolder(places, f"few {number}", begun_s=-9) for number in range(40)]
    many = [FakeHolder(places, "many", begun_s=number * 1e-9) for number in range(MAX_PLACES - 37)]
    places.sweep(1.0)
    assert cut_of(few) == []
    assert cut_of(many) == [0, 1, 2]


def test_where_everybody_holds_one_the_oldest_goes() -> None:
    places = GatewayConnectionPool()
    holders = [FakeHolder(places, str(n), begun_s=-n * 1.0) for n in range(MAX_PLACES + 1)]
    places.sweep(QUICK_S)
    assert cut_of(holders) == [MAX_PLACES]


def test_a_new_connection_a_known_one_and_one_at_work_stay() -> None:
    places = GatewayConnectionPool()
    known = [FakeHolder(places, "k", is_known=True, begun_s=-9) for _ in range(5)]
    at_work = [FakeHolder(places, gives_way=False, begun_s=-9) for _ in range(5)]
    new = [FakeHolder(places, begun_s=1.0 - QUICK_S / 2) for _ in range(5)]
    slow = [FakeHolder(places, "ab"[n % 2], begun_s=n * 1e-9) for n in range(MAX_PLACES)]
    places.sweep(1.0)
    assert [*cut_of(known), *cut_of(at_work), *cut_of(new)] == []
    assert cut_of(slow) == list(range(15))


def test_those_with_a_token_give_way_where_nobody_else_is_left() -> None:
    places = GatewayConnectionPool()
    known = [FakeHolder(places, is_known=True) for _ in range(MAX_PLACES + 2)]
    places.sweep(1.0)
    # One caller may not hold them all either
    assert len(cut_of(known)) == MAX_CUTS
    while len(places) > MAX_PLACES_OF_ONE:
        places.sweep(1.0)
    places.sweep(1.0)
    assert len(places) == MAX_PLACES_OF_ONE


async def test_where_all_places_are_held_the_next_one_waits() -> None:
    places = GatewayConnectionPool()
    holders = [FakeHolder(places) for _ in range(MAX_PLACES + QUICK_PLACES - 1)]
    await asyncio.wait_for(places.room(), 1)
    last = FakeHolder(places)
    waiting = asyncio.ensure_future(places.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    holders[3].cut()
    await asyncio.wait_for(waiting, 1)
    assert not last.is_cut


async def test_places_are_looked_through_while_somebody_is_there() -> None:
    places = GatewayConnectionPool()
    clearing = asyncio.ensure_future(places.keep_clear())
    holder = FakeHolder(places, due_s=0.0)
    await wait_until(lambda: holder.is_cut)
    assert list(places) == []
    clearing.cancel()
