# The link's own methods: the manifest, leases, safe outputs, and how the board is.

import struct
from time import ticks_ms

import frame
from micropython import const
from node.calls import AT, Refusal, need
from node.uptime import Uptime

_MANIFEST_CHUNK_BYTES = const(200)

STATE_BOOT = 0
STATE_IDLE = 1
STATE_ARMED = 3
STATE_SAFE = 4


class System:
    def __init__(self, outputs, manifest):
        self._outputs = outputs
        self._manifest = manifest
        self._uptime = Uptime()
        self._in_session = False
        # Set by the link, which knows its decoder
        self.frames = 0
        self.dropped = 0

    def handlers(self):
        return {
            frame.METHOD_MANIFEST: self._send_manifest,
            frame.METHOD_LEASE_RENEW: self._renew_leases,
            frame.METHOD_SAFE: self._make_safe,
            frame.METHOD_STATUS: self._status,
        }

    @property
    def state(self):
        if self._outputs.stopped:
            return STATE_SAFE
        if self._outputs.held:
            return STATE_ARMED
        return STATE_IDLE if self._in_session else STATE_BOOT

    def begin_session(self, is_open):
        # Every session starts with safe outputs, and ends what an ESTOP has locked
        self._outputs.begin_session()
        self._in_session = is_open

    def tick(self, now_ms):
        self._outputs.tick(now_ms)
        self._uptime.advance(now_ms)

    def stop(self):
        self._outputs.stop()

    def make_safe(self):
        self._outputs.make_safe()

    def uptime_ms(self, now_ms):
        return self._uptime.milliseconds(now_ms)

    def _send_manifest(self, arguments, answer):
        need(arguments, 4)
        offset = struct.unpack_from("<I", arguments, 0)[0]
        total = len(self._manifest)
        if offset > total:
            raise Refusal(frame.OUT_OF_RANGE, "offset beyond the manifest")
        count = min(_MANIFEST_CHUNK_BYTES, total - offset)
        struct.pack_into("<I", answer, AT, total)
        start = AT + 4
        answer[start : start + count] = self._manifest[offset : offset + count]
        return 4 + count

    def _renew_leases(self, arguments, answer):
        need(arguments, 4)
        mask = struct.unpack_from("<I", arguments, 0)[0]
        struct.pack_into("<I", answer, AT, self._outputs.renew(mask, ticks_ms()))
        return 4

    def _make_safe(self, _arguments, _answer):
        self._outputs.make_safe()
        return 0

    def _status(self, _arguments, answer):
        leased = self._outputs.leased
        fields = (self.state, self.uptime_ms(ticks_ms()), leased, self.frames, self.dropped)
        struct.pack_into("<BIIII", answer, AT, *fields)
        return 17
