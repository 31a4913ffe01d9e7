"""Can the memories be reached, and were any left behind in another place?"""

from agent.errors import MemoryUnavailable
from agent.health.base import Finding, Patient, Store
from agent.memory.base import MemoryStats

# Details of a store that somebody has to do something about
_TROUBLES = ("damage", "advice")


async def check(patient: Patient) -> Finding:
    if patient.find_store is None:
        return Finding.ok("nothing is known of where memories are")
    store = patient.find_store()
    found = await _reached(store)
    if isinstance(found, MemoryUnavailable):
        return Finding.failed(f"{store.backend} ({store.where}) cannot be used: {found}")
    troubles = [found.details[name] for name in _TROUBLES if name in found.details] if found else []
    if trouble := "; ".join(filter(None, (store.trouble, *troubles))):
        return Finding.warning(trouble)
    if store.backend == "none":
        return Finding.ok("switched off: nothing is remembered")
    if found is None:
        return Finding.ok(f"{store.backend} ({store.where})")
    extras = ", ".join(f"{name} {said}" for name, said in found.details.items())
    return Finding.ok(f"{found.count} memories in {store.backend} ({store.where}): {extras}")


async def _reached(store: Store) -> MemoryStats | MemoryUnavailable | None:
    """Its numbers, or why there are none; None where it is not opened."""
    if store.open is None:
        return None
    memory = store.open()
    try:
        return await memory.stats()
    except MemoryUnavailable as err:
        return err
    finally:
        await memory.aclose()
