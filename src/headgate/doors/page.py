"""The tables of routes, errors and metrics in the documents, written from the doors themselves."""

from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry

from headgate.doors.gravitino import GravitinoDoor
from headgate.doors.gravitino import errors as gravitino
from headgate.doors.headgate import HeadgateDoor
from headgate.doors.iceberg import IcebergDoor
from headgate.doors.iceberg import errors as iceberg
from headgate.doors.observe import Metrics
from headgate.doors.openapi import requirement, with_document
from headgate.doors.root import RootDoor
from headgate.doors.routing import Route
from headgate.model import errors as e
from headgate.model.secrets import Secret
from headgate.settings.server import Settings

_DOORS: Final = {
    "gravitino": "Gravitino's API",
    "iceberg": "Iceberg's REST catalog",
    "headgate": "Headgate's own API",
    "root": "Health, metrics and configuration",
    "openapi": "The description of all of them",
}


def route_tables() -> str:
    """One table per door: method, path, what it does and what it requires."""
    settings = Settings(home="", store=Secret(""), warehouse="")
    doors = with_document([GravitinoDoor(), IcebergDoor(), HeadgateDoor(), RootDoor(settings, Metrics())])
    by_name = {door.name: door for door in doors}
    parts = []
    for name, title in _DOORS.items():
        rows = sorted(by_name.pop(name).routes, key=lambda route: (route.path, route.method))
        lines = (f"| `{r.method}` | `{r.path}` | {_cell(r.summary)} | {_required(r)} |" for r in rows)
        parts.append(
            "\n".join([f"\n### {title}\n", "| | path | does | requires |", "|---|---|---|---|", *lines])
        )
    if by_name:
        raise LookupError(f"no title for {', '.join(by_name)}")
    return "\n".join(parts) + "\n\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _required(route: Route) -> str:
    asked = requirement(route)
    if isinstance(asked, Mapping):
        return "by the kind of object: " + ", ".join(f"`{op}`" for op in dict.fromkeys(asked.values()))
    return (
        "proof of identity" if asked == "authenticated" else "nothing" if asked == "anyone" else f"`{asked}`"
    )


def error_table() -> str:
    """One line per kind of error: what it means, and what each door answers."""
    kinds = [kind for kind in _below(e.HeadgateError) if kind.__module__ == e.__name__]
    lines = ["| error | means | Gravitino's API | Iceberg's REST catalog |", "|---|---|---|---|"]
    for kind in kinds:
        code, status, name = gravitino.meaning(kind)
        other, type = iceberg.meaning(kind)
        says = (kind.__doc__ or "").partition("\n")[0]
        words = f"{status} `{name.replace('{}', '…')}`, code {code}"
        lines.append(f"| `{kind.__name__}` | {says} | {words} | {other} `{type}` |")
    return "\n".join(lines) + "\n"


def _below(kind: type[e.HeadgateError]) -> Iterable[type[e.HeadgateError]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _below(one)


def metric_table() -> str:
    """One line per metric: its name as Prometheus has it, its labels, and what it counts."""
    lines = ["| metric | kind | labels | says |", "|---|---|---|---|"]
    for name, kind, labels, says in described(Metrics().registry):
        lines.append(f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {says} |")
    return "\n".join(lines) + "\n"


def described(registry: CollectorRegistry) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Every metric of a registry: its name, kind, labels and text."""
    found = []
    for collector in registry._collector_to_names:
        for family in collector.describe() if hasattr(collector, "describe") else ():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = tuple(getattr(collector, "_labelnames", ()))
            found.append((name, family.type, labels, family.documentation))
    return sorted(found)
