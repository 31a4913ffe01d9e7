"""Metrics page in Prometheus' text format 0.0.4."""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX = "barnacle_"
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class MetricSample(Struct, frozen=True):
    """One sample; `kind` is counter or gauge, the same for all of a name."""

    name: str
    about: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    kind: str = "gauge"


def page(samples: Iterable[MetricSample]) -> str:
    """Return the page, samples of one name together."""
    by_name: dict[str, list[MetricSample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    return "".join(_family(name, family) for name, family in by_name.items())


def _family(name: str, family: list[MetricSample]) -> str:
    first = family[0]
    head = f"# HELP {_PREFIX}{name} {first.about}\n# TYPE {_PREFIX}{name} {first.kind}\n"
    return head + "".join(f"{_PREFIX}{name}{_labels(one)} {one.value:.17g}\n" for one in family)


def _labels(sample: MetricSample) -> str:
    told = (f'{name}="{text.translate(_ESCAPED)}"' for name, text in sample.labels.items())
    return f"{{{','.join(told)}}}" if sample.labels else ""
