"""Was the file of settings on the card's first partition taken over? Cards of ours alone."""

from agent.health.base import Finding, Patient

_FOLDER = "data/device"
# Left by the start of a card, for everybody to read
_REFUSED, _TAKEN_OVER = f"{_FOLDER}/refused", f"{_FOLDER}/taken-over"


async def check(patient: Patient) -> Finding:
    kernel = patient.readings.kernel
    if not kernel.exists(_FOLDER):
        return Finding.ok("not a card of Barnacle: `barnacle setup` asks for everything")
    problems = kernel.text(_REFUSED).splitlines()
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return Finding.warning(
            f"the card's settings were refused whole: {problems[0]}{more}; correct them on its "
            "first partition and start the device again"
        )
    if not kernel.exists(_TAKEN_OVER):
        return Finding.ok("nothing stands in barnacle.toml on the card's first partition yet")
    return Finding.ok("what barnacle.toml on the card's first partition says was taken over")
