"""Folders of skills, good and bad."""

from pathlib import Path

BODY = "Look at the soil first. Then water for 5 s.\n"


def put(root: Path, name: str = "watering", body: str = BODY, front: str = "") -> Path:
    """A skill beneath `root`; the folder."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    front = front or f"name: {name}\ndescription: How the basil is watered"
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\n{body}")
    return folder
