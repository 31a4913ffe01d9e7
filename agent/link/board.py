"""The board on a serial port: found, greeted, called, held by leases, and found again.

Promises: one object for the life of the agent, whatever happens to the cable; a call never acts
twice; outputs are never restored after a reset. `run` is supervised by the composition root.
"""

import asyncio
import logging
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from agent.errors import CallRefused, LinkError, LinkLost, OutcomeUnknown, WrongDevice
from agent.link import frame as wire
from agent.link import output_lock
from agent.link.base import BoardIdentity, BoardState, BoardStatus, Standing, Unsubscribe, Value
from agent.link.connection import BoardConnection
from agent.link.counters import Counters
from agent.link.discovery import LOOK_S, BackOff, Ports, SerialPorts
from agent.link.events import BoardSubscription, Subscriptions, Watch
from agent.link.image import offer
from agent.link.leases import Leases, renewal_interval_s
from agent.link.manifest import Manifest, Method, read_manifest
from agent.link.manifest_cache import ManifestCache
from agent.link.pin_configuration import PinConfiguration
from agent.link.session import Request
from agent.link.settings import BoardSettings
from agent.link.transfer import fetch_manifest
from agent.link.value_codec import BadAnswer, pack, unpack
from agent.passage import Passage, Provenance, configured, echo, outside, own
from agent.storage.lineage import NEVER_RESTORED, Lineage
from agent.system import logs
from agent.system.clock import Clock

# The slowest method of a board (a 1-Wire conversion) takes 0.75 s; a person waits this long
CALL_DEADLINE_MS = 3_000
# Making outputs safe or holding them is nothing to wait for: a late one is a failed one
URGENT_DEADLINE_MS = 1_000
_MASK_FORMAT = "<I"
_RELEASED = "the agent has released the board"
# The one reset cause that is nobody's trouble
_PLUGGED_IN = "power-on"

_log = logging.getLogger(__name__)


class _Live(Struct, frozen=True):
    """Parts that exist only while the board is ready."""

    connection: BoardConnection
    manifest: Manifest
    leases: Leases

    @property
    def held(self) -> frozenset[str]:
        """Return the outputs whose leases are renewed."""
        return frozenset(self.manifest.named(self.leases.held))

    def let_go(self, pin: str) -> bool:
        """Renew its lease no more; False where none is held."""
        bits = self.manifest.bit_of(pin) & self.leases.held
        if bits:
            self.leases.drop(bits)
        return bool(bits)


_Trouble = str | Passage


class SerialBoard:
    """A `Board` behind a serial port.

    Args:
        folder: where manifests are kept; the last one gives tools while the board is away.
        ports: where the board is looked for; by default the ports of this machine.
        lineage: of this device; a board that a later copy of it drives is left alone.
    """

    def __init__(
        self,
        settings: BoardSettings,
        folder: Path,
        clock: Clock,
        ports: Ports | None = None,
        lineage: Lineage = NEVER_RESTORED,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._ports = ports or SerialPorts(settings, clock)
        self.port_use = asyncio.Lock()  # whoever installs a board takes it between two tries
        self._cache = ManifestCache(folder)
        self._back_off = BackOff()
        self._live: _Live | None = None
        self._listeners: list[Callable[[Manifest], None]] = []
        self._last_identity: BoardIdentity | None = None
        self._is_stopped = False
        self._stop_sent = asyncio.Event()
        # There from before the greeting, so that a stop never waits for one
        self._connection: BoardConnection | None = None
        # What a person should know while it is ready, by subject
        self._notes: dict[str, str] = {}
        self._why = own("not searched for yet")
        self.standing = Standing(
            BoardStatus(BoardState.ABSENT, settings.port, trouble=self._why.text)
        )
        self.counters = Counters()
        self._subscriptions = Subscriptions(clock)
        self._wiring = PinConfiguration(settings.pins, folder, lineage)
        self._manifest = self._remembered()

    @property
    def name(self) -> str:
        return self._settings.name

    @property
    def status(self) -> BoardStatus:
        return self.standing.now

    @property
    def manifest(self) -> Manifest | None:
        return self._manifest

    def on_manifest(self, listener: Callable[[Manifest], None]) -> Unsubscribe:
        self._listeners.append(listener)
        if self._manifest is not None:
            listener(self._manifest)
        return lambda: self._listeners.remove(listener)

    def subscribe(self, watch: Watch) -> BoardSubscription:
        """Events of that watch, from now on, whenever the board is there."""
        return self._subscriptions.open(watch)

    async def call(self, method: str, arguments: Mapping[str, Value]) -> dict[str, Value]:
        if (live := self._live) is None:
            raise LinkLost(self._why if self._why.text else own("the handshake is not finished"))
        described = live.manifest.method(method)
        if described is None:
            raise CallRefused("not_supported", echo(f"this board has no {method}"))
        if self._is_stopped and described.safety != "read":
            raise CallRefused("unsafe_state", own("the emergency stop is set"))
        payload = pack(live.manifest, described, arguments)
        live.leases.note_wish(live.manifest, described, arguments)
        try:
            result = await live.connection.call(Request(described.id, payload, CALL_DEADLINE_MS))
        except OutcomeUnknown as err:
            if described.safety == "read":
                # A question that was not answered has done nothing
                raise LinkLost(err.words(Provenance.SENSOR)) from err
            raise
        values = _values(live.manifest, described, result)
        if described.lease:
            live.leases.note(live.manifest, described, arguments, values)
        return values

    async def exchange(self, method: int, arguments: bytes) -> bytes:
        if (live := self._live) is None:
            raise LinkLost(self._why if self._why.text else own("the handshake is not finished"))
        return await live.connection.call(Request(method, arguments, CALL_DEADLINE_MS))

    def let_go(self, pin: str) -> bool:
        return self._live is not None and self._live.let_go(pin)

    @property
    def held(self) -> frozenset[str]:
        return self._live.held if self._live is not None else frozenset()

    async def release(self) -> None:
        if (live := self._live) is None:
            return
        live.leases.drop_all()
        try:
            await live.connection.call(_urgent(wire.METHOD_SAFE))
        except LinkError as err:
            _log.warning("link: outputs go safe when their leases end (error=%s)", err)

    def stop(self) -> None:
        self._is_stopped = True
        if self._live is not None:
            self._lock(self._live)
        elif self._connection is not None:
            self._connection.stop()

    def allow(self) -> None:
        self._is_stopped = False
        if self._connection is not None:
            self._connection.allow()

    @property
    def pending(self) -> tuple[str, ...]:
        return self._wiring.pending

    @property
    def misconfigured(self) -> str:
        """Return why the board does not run the configured settings; empty if it does."""
        return self._notes.get("configuration", "")

    def agree(self) -> None:
        self._wiring.is_agreed = True
        if self._live is not None and self.pending:
            # The next greeting puts it in place
            self._live.connection.drop("its new configuration is being activated")

    async def unlock(self) -> str:
        if (live := self._live) is None:
            return f"{self.name}: not connected; it stays locked if it was."
        try:
            sentence = await output_lock.clear_lock(live.connection)
        except LinkError as err:
            return f"{self.name}: still locked: {err}."
        self._note(lock="")
        return f"{self.name}: {sentence}."

    async def run(self) -> None:
        """Look for the board, serve it, and look again; until cancelled."""
        try:
            with logs.about(board=self.name):
                while True:
                    path = await self._seek()
                    seen = self._ports.identity(path)
                    async with self.port_use:
                        await self._attempt(path)
                    await self._pause(path, seen)
        finally:
            self._ports.close()
            self._become(BoardState.CLOSED, self.status.port, own(_RELEASED))

    async def _seek(self) -> str:
        while (path := await self._ports.find()) is None:
            self._become(BoardState.ABSENT, self._settings.port, configured(self._ports.missing()))
            self._back_off.reset()
            await self._ports.changed(LOOK_S)
        return path

    async def _pause(self, path: str, seen: object) -> None:
        """Wait before the next try, unless another device has appeared at the path."""
        until_s = self._clock.monotonic_s() + self._back_off.next_s()
        while (left_s := until_s - self._clock.monotonic_s()) > 0:
            await self._ports.changed(min(LOOK_S, left_s))
            if self._ports.identity(path) != seen:
                self._back_off.reset()
                return

    async def _attempt(self, path: str) -> None:
        if self.status.state is BoardState.ABSENT:
            self._become(BoardState.CONNECTING, path, own(""))
        try:
            port = await self._ports.open(path)
            connection = BoardConnection(port, self._clock, is_stopped=self._is_stopped)
            async with connection:
                self.counters = connection.session.counters
                self._connection = connection
                await self._serve(path, connection)
        except WrongDevice as err:
            self._become(BoardState.REFUSED, path, str(err))
        except LinkError as err:
            self._become(BoardState.CONNECTING, path, err.words(Provenance.SENSOR))
        finally:
            self._connection = None

    async def _serve(self, path: str, connection: BoardConnection) -> None:
        greeting = await connection.greet()
        raw = await asyncio.to_thread(self._cache.get, greeting.manifest_hash)
        if raw is None:
            raw = await fetch_manifest(connection, greeting.manifest_hash)
        kind = greeting.identity.board
        in_force = await self._wiring.settle(connection, greeting.configuration_hash, kind)
        manifest = self._wiring.over(read_manifest(raw), in_force)
        live = _Live(connection, manifest, Leases(connection.keep_alive))
        self._learn(manifest)
        self._live = live
        self._back_off.reset()
        self._become_ready(path, greeting.identity)
        self._note(configuration=in_force.trouble)
        if self._is_stopped:
            self._lock(live)
        try:
            reason = await self._hold(live, raw, greeting.identity)
        finally:
            self._live = None
        # At once, not only after the port is closed
        self._become(BoardState.CONNECTING, path, configured(reason))

    async def _hold(self, live: _Live, raw: bytes, identity: BoardIdentity) -> str:
        """Renew leases until the session ends; the reason of its end."""
        async with asyncio.TaskGroup() as group:
            listening = group.create_task(self._subscriptions.serve(live.connection, live.manifest))
            renewing = group.create_task(self._keep_renewing(live))
            locking = group.create_task(self._look_for_locks(live))
            await asyncio.to_thread(self._cache.put, raw)
            self._note(firmware=await asyncio.to_thread(offer, identity))
            reason = await live.connection.lost()
            for task in (renewing, listening, locking):
                task.cancel()
        return reason

    def _lock(self, live: _Live) -> None:
        live.leases.drop_all()
        live.connection.stop()
        self._stop_sent.set()
        self._note(lock=output_lock.lock_sentence(wire.REASON_ESTOP))

    async def _look_for_locks(self, live: _Live) -> None:
        """Ask for a lock that an earlier session left, and see that every stop arrives."""
        while True:
            self._stop_sent.clear()
            lock = await output_lock.settled(live.connection, self._clock, lambda: self._is_stopped)
            if lock is not None:
                self._note(lock=lock)
            await self._stop_sent.wait()

    async def _keep_renewing(self, live: _Live) -> None:
        interval_s = renewal_interval_s(live.manifest, self._settings.lease_ms)
        while True:
            await live.leases.until_held()
            await self._clock.sleep(interval_s)
            if live.leases.held:
                await self._renew(live, live.leases.held)

    async def _renew(self, live: _Live, asked: int) -> None:
        mask = struct.pack(_MASK_FORMAT, asked)
        try:
            answer = await live.connection.call(_urgent(wire.METHOD_LEASE_RENEW, mask))
            (granted,) = struct.unpack_from(_MASK_FORMAT, answer)
        except (LinkError, struct.error) as err:
            _log.warning("link: leases not renewed (error=%s)", err)
        else:
            _report_lost(live.manifest, live.leases.renewed(asked, granted))

    def _remembered(self) -> Manifest | None:
        if (raw := self._cache.last()) is None:
            return None
        try:
            return self._wiring.over(read_manifest(raw), self._wiring.remembered())
        except WrongDevice:
            # Written by a newer version of this agent
            return None

    def _learn(self, manifest: Manifest) -> None:
        if manifest != self._manifest:
            self._manifest = manifest
            for listener in list(self._listeners):
                listener(manifest)

    def _become_ready(self, path: str, identity: BoardIdentity) -> None:
        last, self._last_identity = self._last_identity, identity
        self._notes = {"restart": _restart_sentence(last, identity)}
        self._become(BoardState.READY, path, self._notes["restart"], identity)

    def _note(self, **notes: str) -> None:
        """Log troubles of a working board."""
        self._notes |= notes
        status = self.status
        if status.state is BoardState.READY:
            trouble = "; ".join(sentence for sentence in self._notes.values() if sentence)
            self._become(status.state, status.port, trouble, status.identity)

    def _become(
        self, state: BoardState, port: str, trouble: _Trouble, identity: BoardIdentity | None = None
    ) -> None:
        """A trouble that is a plain text may be told in words of the board."""
        if not isinstance(trouble, Passage):
            trouble = outside(trouble, Provenance.SENSOR)
        self._why = trouble
        if not self.standing.becomes(BoardStatus(state, port, identity, trouble.text)):
            return
        if trouble.text and state is not BoardState.CLOSED:
            _log.warning("link: state changed (board=%s, trouble=%s)", self.name, trouble)
        else:
            _log.info("link: %s is %s (port=%s)", self.name, state.value, port or "no port")


def _urgent(method: int, arguments: bytes = b"") -> Request:
    return Request(method, arguments, URGENT_DEADLINE_MS, urgent=True)


def _report_lost(manifest: Manifest, lost: int) -> None:
    if names := manifest.named(lost):
        _log.warning("link: the board released outputs (pins=%s)", ", ".join(names))


def _restart_sentence(last: BoardIdentity | None, now: BoardIdentity) -> str:
    if last is None or last.unique_id != now.unique_id or last.boot_count == now.boot_count:
        return ""
    if now.reset_cause == _PLUGGED_IN:
        return ""
    return f"the board restarted ({now.reset_cause}); its outputs are at their safe values"


def _values(manifest: Manifest, method: Method, result: bytes) -> dict[str, Value]:
    try:
        return unpack(manifest, method, result)
    except BadAnswer as err:
        if method.safety == "read":
            raise CallRefused("io", str(err)) from err
        raise OutcomeUnknown(str(err)) from err
