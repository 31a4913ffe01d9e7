"""The agent's session against a model of a board, over a line on which anything may happen.

A state machine for hypothesis: it asks, lets time pass, and delivers, loses, doubles, reorders,
cuts and damages what is on its way, in every order that it can think of. The line may become
faster; what was sent at another rate than its reader has is rubbish.
"""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agent.link import frame as codec
from agent.link.frame import Frame, encode
from agent.link.rate import Rates
from agent.link.session import Request, Session, SessionState
from scripts.lib.fuzz.model_peer import START_BAUD, TOP_BAUD, ModelPeer

_NONCE = 0xC0FFEE01
_METHOD = 17
_MOST_REQUESTS = 40
# A wire that has been sound for so long has brought everything, or the session is over
_HEALING_STEPS = 400
_STEP_S = 0.02
Sent = tuple[bytes, int]
_WHICH = st.integers(0, 7)


class LossyLine(RuleBasedStateMachine):
    """Whatever the line does: nothing runs twice, nothing out of order, no answer is made up."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 1_000.0
        self.session = Session(_NONCE, "/dev/model", self.now_s, Rates(START_BAUD, TOP_BAUD))
        self.peer = ModelPeer()
        self.asked = 0
        self.answered: list[int] = []
        # With the rate at which each was sent
        self.to_peer: list[Sent] = []
        self.to_agent: list[Sent] = []

    @initialize()
    def greet(self) -> None:
        self._turn()
        self._deliver_all()
        assert self.session.state is SessionState.OPEN

    @precondition(lambda self: self.asked < _MOST_REQUESTS and not self.session.is_over)
    @rule(urgent=st.booleans(), count=st.integers(1, 10))
    def ask(self, *, urgent: bool, count: int) -> None:
        for _ in range(count):
            # An urgent one may overtake, which is an order of its own: only when nothing waits
            request = Request(_METHOD, b"\1", 1000, urgent=urgent and count == 1)
            if request.urgent and self.asked != len(self.answered):
                return
            self.session.request(request, self.asked)
            self.asked += 1
        self._turn()

    @rule(passed_s=st.sampled_from((0.001, 0.004, 0.03, 0.1, 0.3)))
    def wait(self, passed_s: float) -> None:
        self.now_s += passed_s
        self._turn()

    @rule(which=_WHICH, to_agent=st.booleans(), keep=st.booleans())
    def deliver(self, which: int, *, to_agent: bool, keep: bool) -> None:
        """The first, or one that overtakes; `keep` leaves another of it on the way."""
        line = self.to_agent if to_agent else self.to_peer
        if line:
            at = which % len(line)
            self._arrive(line[at] if keep else line.pop(at), to_agent=to_agent)

    @rule()
    def deliver_everything(self) -> None:
        self._deliver_all()

    @rule(which=_WHICH, to_agent=st.booleans())
    def lose(self, which: int, *, to_agent: bool) -> None:
        line = self.to_agent if to_agent else self.to_peer
        if line:
            del line[which % len(line)]

    @rule(which=_WHICH, bit=st.integers(0, 2_000), to_agent=st.booleans())
    def damage(self, which: int, bit: int, *, to_agent: bool) -> None:
        line = self.to_agent if to_agent else self.to_peer
        # What was cut may have nothing left to damage
        if line and line[which % len(line)][0]:
            data, baud = line[which % len(line)]
            spoiled = bytearray(data)
            spoiled[bit // 8 % len(spoiled)] ^= 1 << bit % 8
            line[which % len(line)] = bytes(spoiled), baud

    @rule(which=_WHICH, cut=st.integers(0, 40), to_agent=st.booleans())
    def cut(self, which: int, cut: int, *, to_agent: bool) -> None:
        line = self.to_agent if to_agent else self.to_peer
        if line:
            data, baud = line[which % len(line)]
            line[which % len(line)] = data[:cut], baud

    @rule(noise=st.binary(max_size=30), to_agent=st.booleans())
    def say_nonsense(self, noise: bytes, *, to_agent: bool) -> None:
        baud = self.session.rate.baud if to_agent else self.peer.baud
        self._arrive((noise, baud), to_agent=to_agent)

    @rule(baud=st.sampled_from((0, 9_600, START_BAUD, 230_400, TOP_BAUD)), size=st.integers(0, 5))
    def agree_unasked(self, baud: int, size: int) -> None:
        """A BAUD_ACK that answers nothing, or not what was asked, or is cut short."""
        payload = codec.struct.pack(codec.BAUD_FORMAT, baud) + b"\0"
        ack = Frame(codec.BAUD_ACK, 0, self.peer.expected, 64, payload[:size])
        self._arrive((encode(ack, _NONCE), self.session.rate.baud), to_agent=True)

    @invariant()
    def everything_runs_once_and_in_order(self) -> None:
        assert self.peer.ran == list(range(len(self.peer.ran)))
        assert len(self.peer.ran) <= self.asked

    @invariant()
    def answers_come_once_and_of_what_ran(self) -> None:
        assert self.answered == self.peer.ran[: len(self.answered)]

    def teardown(self) -> None:
        """A line that heals brings everything, unless the session was given up before."""
        for _ in range(_HEALING_STEPS):
            self.now_s += _STEP_S
            self._turn()
            self._deliver_all()
        if not self.session.is_over:
            assert len(self.answered) == self.asked
        self.everything_runs_once_and_in_order()

    def _deliver_all(self) -> None:
        while self.to_peer or self.to_agent:
            if self.to_peer:
                self._arrive(self.to_peer.pop(0), to_agent=False)
            if self.to_agent:
                self._arrive(self.to_agent.pop(0), to_agent=True)

    def _arrive(self, sent: Sent, *, to_agent: bool) -> None:
        data, baud = sent
        if baud != (self.session.rate.baud if to_agent else self.peer.baud):
            data = bytes(byte | 1 for byte in data)
        if to_agent:
            self.session.receive(data, self.now_s)
        else:
            self.peer.receive(data, self.now_s)
        self._turn()

    def _turn(self) -> None:
        self.session.tick(self.now_s)
        self.peer.tick(self.now_s)
        for answer in self.session.take_answers():
            assert answer.payload == b"done"
            self.answered.append(answer.request_id)
        # Frame by frame, as a line sees them
        frames = self.session.take_output().split(b"\0")
        baud = self.session.rate.baud
        self.to_peer += [(b"\0" + frame + b"\0", baud) for frame in frames if frame]
        self.to_agent += self.peer.out
        self.peer.out.clear()
