"""Places in storage, as texts: one spelling for each, and how one lies in another."""


def normal(place: str) -> str:
    """One spelling for the same place: local paths as file URIs, s3a and s3n as s3."""
    if place.startswith("/"):
        return f"file://{place}"
    if place.startswith("file:/") and not place.startswith("file://"):
        return f"file://{place.removeprefix('file:')}"
    for alias in ("s3a://", "s3n://"):
        if place.startswith(alias):
            return "s3://" + place.removeprefix(alias)
    return place


def within(place: str, folder: str) -> bool:
    """Whether a place is the folder or lies in it; both in their one spelling."""
    return place == folder or place.startswith(f"{folder}/")


def overlap(one: str, other: str) -> bool:
    """Whether one place is the other or lies in it, either way."""
    return within(one, other) or within(other, one)


def above(place: str) -> list[str]:
    """A place and all that it may lie in."""
    parts = place.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
