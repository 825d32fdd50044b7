"""The table of properties in docs/federation.md, written from the properties that federated catalogs are declared with."""

from headgate.model.properties import DEFINED, MEANING


def property_table() -> str:
    """One line per property: for which kinds of catalogs it is, and what it means."""
    kinds = {kind.removesuffix(" catalog"): defined for kind, defined in DEFINED.items() if defined.closed}
    lines = [f"| property | {' | '.join(kinds)} | meaning |", f"|---|{'---|' * len(kinds)}---|"]
    for key in sorted({key for defined in kinds.values() for key in (*defined.read, *defined.noted)}):
        marks = (
            "yes" if key in defined.read else "noted" if key in defined.noted else ""
            for defined in kinds.values()
        )
        lines.append(f"| `{key}` | {' | '.join(marks)} | {MEANING[key]} |")
    return "\n".join(lines) + "\n"
