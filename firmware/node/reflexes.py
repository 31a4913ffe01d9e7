# Reflexes: rules that the board runs by itself, with no Pi and no network.
#
# A table of fixed size; a few rules are looked at in each pass, each once and in its turn. An
# output is moved only through outputs.py, so lease, limits, interlocks and locks hold here too.

import binascii
import struct
from time import ticks_add, ticks_diff, ticks_ms

import frame
from micropython import const
from node import reflex_table
from node.calls import AT, Refusal, need
from node.outputs import LEASE_LONGEST_MS
from node.reflex_rule import ACTIVE, EMPTY, FORBIDDEN, GONE, PAUSED, Rule

LIST = 0
GET = 1
PUT = 2
DELETE = 3
PAUSE = 4

ANY_SLOT = 255
# Two rules take about 1.4 ms on an STM32F4 at 62.5 MIPS; all sixteen have their turn in 80 ms
_RULES_PER_PASS = const(2)
# After a refusal, so that a rule that may not act costs next to nothing
_AGAIN_S = const(1)
# Writing a small file on 16 KB sectors that are erased first
_WRITE_BUSY_MS = const(2_000)


class Reflexes:
    # `features` are asked for values, as for events: sample(index, part). `store` keeps the table;
    # `system` tells the Pi when nothing will be read for a while.

    def __init__(self, pins, configuration, features, store, system):
        self._pins = pins
        self._outputs = pins.outputs
        self._configuration = configuration
        self._samplers = tuple([one for one in features if hasattr(one, "sample")])
        self._system = system
        # By slot; None where there is no rule, which then takes no memory
        self._rules = [None] * frame.REFLEXES_MOST  # type: list
        self._active = []
        self._turn = 0
        self._second_ms = ticks_ms()
        self._seconds = 0
        self._table = reflex_table.Table(store)
        self._table.load(self._rules)
        self._bind()

    def handlers(self):
        return {frame.METHOD_REFLEX: self._obey}

    def tick(self, now_ms):
        passed_s = ticks_diff(now_ms, self._second_ms) // 1000
        if passed_s > 0:
            self._second_ms = ticks_add(self._second_ms, passed_s * 1000)
            self._seconds += passed_s
        if self._bound_hash is not self._configuration.hash:
            self._bind()
        # Flash that is written stops everything: never while an output is on
        if self._table.is_due and not self._outputs.held:
            if self._table.is_slow:
                self._system.announce_busy(_WRITE_BUSY_MS)
            self._table.save(self._rules)
        active = self._active
        for _ in range(min(_RULES_PER_PASS, len(active))):
            self._turn = (self._turn + 1) % len(active)
            self._look(active[self._turn], now_ms)

    def _bind(self):
        # Other pins may be there than when the rules were written: each rule finds its own again,
        # or rests. Whatever was seen before counts no more, and nothing acts before its interval
        # is over: a board that its own pump resets would run it again and again otherwise.
        self._bound_hash = self._configuration.hash
        for rule in self._rules:
            if rule is not None:
                rule.rest()
                rule.not_before_s = self._seconds + rule.interval_s
                rule.state = self._state_of(rule)
        self._changed()

    def _look(self, rule, now_ms):
        all_hold = True
        for which in range(rule.conditions):
            try:
                value = self._sample(rule.pin(which), rule.part(which))
            except Exception:  # a sensor that fails says nothing, so nothing is done
                value = None
            if value is None:
                rule.code = frame.IO
                all_hold = False
            elif not rule.look(which, value):
                all_hold = False
        if rule.is_due(all_hold, now_ms) and self._seconds >= rule.not_before_s:
            self._act(rule, now_ms)

    def _act(self, rule, now_ms):
        outputs = self._outputs
        rule.not_before_s = self._seconds + _AGAIN_S
        try:
            if not outputs.write_reflex(rule.output, rule.value, rule.duration_ms, now_ms):
                rule.note_refused(outputs.refusal)
                return
        except Exception:  # the pin may have moved all the same: that counts as having acted
            rule.note_refused(frame.IO)
        # The second that has begun is not a whole one
        rule.not_before_s = self._seconds + rule.interval_s + 1
        rule.note_fired()

    def _find_output(self, rule):
        output = self._outputs.find(rule.output)
        if output is None:
            raise Refusal(frame.BAD_PIN, "that pin is not an output")
        return output

    def _mark(self, index):
        # A number that stays with a pin wherever it stands in the table; 0 where there is none
        slot = self._pins.find(index)
        if slot is None:
            return 0
        kind = slot.row["kind"] if slot.device is not None else _plain_kind(slot)
        return binascii.crc32(("%s %s %s" % (slot.row["name"], slot.row["pin"], kind)).encode())

    def _sample(self, index, part):
        for feature in self._samplers:
            value = feature.sample(index, part)
            if value is not None:
                return value
        return None

    def _state_of(self, rule):
        if not reflex_table.find_pins(rule, self._mark):
            return GONE
        try:
            self._require_allowed(rule)
        except Refusal:
            return FORBIDDEN
        return ACTIVE if rule.raw[0] else PAUSED

    def _require_allowed(self, rule):
        output = self._find_output(rule)
        device = self._pins.find(rule.output).device
        highest = 1 if device is None else getattr(device, "highest", None)
        if highest is None:
            raise Refusal(frame.BAD_PIN, "no rule can set that output")
        if not 0 <= rule.value <= highest and rule.value != output.safe:
            raise Refusal(frame.OUT_OF_RANGE, "the output has no such value")
        if rule.value == output.safe:
            if rule.duration_ms:
                raise Refusal(frame.OUT_OF_RANGE, "the safe value needs no duration")
            return
        longest_ms = min(output.limits.max_on_ms or LEASE_LONGEST_MS, LEASE_LONGEST_MS)
        if not 1 <= rule.duration_ms <= longest_ms:
            raise Refusal(frame.OUT_OF_RANGE, "the output may be held 1 to %d ms" % longest_ms)

    # What the session asks

    def _obey(self, arguments, answer):
        need(arguments, 1)
        action = arguments[0]
        if action == LIST:
            return self._list(answer)
        need(arguments, 2)
        if action == PUT:
            return self._put(arguments, answer)
        slot = arguments[1]
        if slot >= frame.REFLEXES_MOST or self._rules[slot] is None:
            raise Refusal(frame.OUT_OF_RANGE, "there is no such reflex")
        rule = self._rules[slot]
        if action == GET:
            answer[AT : AT + frame.RULE_BYTES] = rule.raw
            return frame.RULE_BYTES
        if action == DELETE:
            self._rules[slot] = None
            rule.state = EMPTY
        elif action == PAUSE:
            need(arguments, 3)
            rule.enable(arguments[2])
            rule.state = self._state_of(rule)
        else:
            raise Refusal(frame.BAD_REQUEST, "there is no such action")
        self._changed()
        if rule.state != ACTIVE:
            self._let_go(rule.output)
        self._table.is_due = True
        return 0

    def _list(self, answer):
        answer[AT] = self._table.condition
        answer[AT + 1] = frame.REFLEXES_MOST
        at = AT + 2
        for rule in self._rules:
            if rule is None:
                struct.pack_into(frame.REFLEX_STATE_FORMAT, answer, at, EMPTY, 0, 0, 0, 0)
            else:
                rule.pack_state(answer, at, max(0, rule.not_before_s - self._seconds))
            at += frame.REFLEX_STATE_BYTES
        return at - AT

    def _put(self, arguments, answer):
        need(arguments, 2 + frame.RULE_BYTES)
        slot = self._free_slot() if arguments[1] == ANY_SLOT else arguments[1]
        if slot >= frame.REFLEXES_MOST:
            raise Refusal(frame.BUSY_CODE, "there is no room for another reflex")
        rule = Rule()
        try:
            rule.fill(arguments[2:])
        except ValueError as err:
            raise Refusal(frame.OUT_OF_RANGE, str(err))  # noqa: B904  - MicroPython keeps no causes
        self._require_allowed(rule)
        for which in range(rule.conditions):
            if self._sample(rule.pin(which), rule.part(which)) is None:
                raise Refusal(frame.BAD_PIN, "a condition is about a pin without a value")
        reflex_table.note_pins(rule, self._mark)
        rule.not_before_s = self._seconds
        self._rules[slot] = rule
        self._changed()
        self._table.is_due = True
        answer[AT] = slot
        return 1

    def _let_go(self, index):
        if self._outputs.reflexed & (1 << index):
            self._outputs.write_reflex(index, self._outputs.find(index).safe, 0, ticks_ms())

    def _changed(self):
        self._active = [rule for rule in self._rules if rule is not None and rule.state == ACTIVE]
        self._turn = 0

    def _free_slot(self):
        for slot in range(frame.REFLEXES_MOST):
            if self._rules[slot] is None:
                return slot
        return frame.REFLEXES_MOST


def _plain_kind(slot):
    # A row of the board file and an entry for the same pin with the same name are the same pin
    can = "o" if slot.output is not None else ""
    return can + ("i" if slot.input is not None else "") + ("a" if slot.analog is not None else "")
