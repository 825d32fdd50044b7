"""Random requests about a table: what somebody asks who wants to know what is hidden."""

import random
from collections.abc import Iterator
from typing import Any, Final

from tests.doors.settled import LAKE
from tests.leaks.twins import DROPPED, EDGE, NESTED, SECRETS
from tests.worker.stand import ICE

TABLE: Final = f"{ICE}/t"
NAMES: Final = (
    "id",
    "region",
    "salary",
    "mail",
    "note",
    *(n for n, _ in (*SECRETS, *DROPPED)),
    "nope",
    "SALARY",
    "Ssn",
)
INNER_NAMES: Final = ("home", "home.zip", *(f"home.{n}" for n, _ in NESTED))
"""Asked for where there is a struct: every name that is not there makes a filter less likely to be planned."""
LITERALS: Final[tuple[Any, ...]] = (
    0, 1, 3, 7, 500, EDGE - 1, EDGE, 999_999, 10**8, "EU", "US", "ZA", "QQ", "red", "black", "a", "gh", "7", "9", 1.5, None, True
)  # fmt: skip
COMPARISONS: Final = ("lt", "lt-eq", "gt", "gt-eq", "eq", "not-eq", "starts-with", "not-starts-with")
LIKELY: Final = {"id": (1, 4, 9), "region": ("EU", "US", "QQ", "ZZ"), "salary": (5, 400, EDGE - 1, EDGE, 10**7), "mail": ("g", "xxx", "p"), "note": ("red", "black")}  # fmt: skip


class Requests:
    def __init__(self, seed: int, snapshots: int, *, nests: bool) -> None:
        self.rng = random.Random(f"requests-{seed}")
        self.names = (*NAMES, *INNER_NAMES) if nests else NAMES
        self.ids = (1, 3, 4, 5, 7, *((8, 9, 10) if nests else ()), 99)
        self.snapshots = snapshots

    def plans(self, count: int) -> list[dict[str, Any]]:
        """Scans; `snapshot` members are places in the table's history."""
        return [self._plan() for _ in range(count)]

    def _plan(self) -> dict[str, Any]:
        rng = self.rng
        body: dict[str, Any] = {}
        if rng.random() < 0.85:
            body["filter"] = self._filter(2)
        if rng.random() < 0.2:
            body["select"] = rng.sample(NAMES[:5], 2) + (
                [rng.choice(self.names)] if rng.random() < 0.3 else []
            )
        if rng.random() < 0.4:
            body["stats-fields"] = rng.sample(NAMES[:5], 2) + (
                [rng.choice(self.names)] if rng.random() < 0.2 else []
            )
        if rng.random() < 0.2:
            body["min-rows-requested"] = rng.choice([1, 4, 100])
        if rng.random() < 0.2:
            body["case-sensitive"] = False
        scope = rng.random()
        if scope < 0.35:
            body["snapshot-id"] = ("snapshot", rng.randrange(self.snapshots))
            body["use-snapshot-schema"] = rng.random() < 0.5
        elif scope < 0.55 and self.snapshots > 1:
            first, last = sorted(rng.sample(range(self.snapshots), 2))
            body |= {"start-snapshot-id": ("snapshot", first), "end-snapshot-id": ("snapshot", last)}
        elif scope < 0.6:
            body["snapshot-id"] = 5
        return body

    def _filter(self, depth: int) -> Any:
        rng = self.rng
        kind = rng.random()
        if depth and kind < 0.3:
            return {
                "type": rng.choice(["and", "or"]),
                "left": self._filter(depth - 1),
                "right": self._filter(depth - 1),
            }
        if depth and kind < 0.36:
            return {"type": "not", "child": self._filter(depth - 1)}
        if rng.random() < 0.8:
            name = rng.choice(list(LIKELY))
            literals: tuple[Any, ...] = LIKELY[name]
            term: Any = name
        else:
            term, literals = (
                rng.choice([*self.names, *({"type": "reference", "id": id} for id in self.ids)]),
                LITERALS,
            )
        kind = rng.random()
        if kind < 0.1:
            return {"type": rng.choice(["is-null", "not-null", "is-nan"]), "term": term}
        if kind < 0.2:
            return {
                "type": rng.choice(["in", "not-in"]),
                "term": term,
                "values": rng.sample(literals, min(2, len(literals))),
            }
        return {"type": rng.choice(COMPARISONS), "term": term, "value": rng.choice(literals)}

    @staticmethod
    def others() -> Iterator[tuple[str, str, Any]]:
        """Everything but scans."""
        gravitino = f"{LAKE}/catalogs/cat/schemas/s/tables"
        about = f"{LAKE}/objects/table/cat.s.t"
        for path in (
            "/iceberg/v1/config?warehouse=lake.cat",
            ICE,
            TABLE,
            f"{TABLE}?snapshots=refs",
            f"{TABLE}/credentials",
            f"{TABLE}/plan/guess",
            gravitino,
            f"{gravitino}/t",
            f"{gravitino}/t/partitions",
            f"{gravitino}/t/partitions?details=true",
            f"{about}/statistics",
            f"{about}/statistics/partitions",
            f"{about}/tags?details=true",
            f"{about}/credentials",
            f"{LAKE}/tags/pii/objects",
            "/api/headgate/lenses/mine?metalake=lake&table=cat.s.t",
        ):
            yield "GET", path, None
        for name in (*NAMES, *INNER_NAMES):
            yield "GET", f"{LAKE}/objects/column/cat.s.t.{name}/tags", None
        yield "POST", f"{TABLE}/tasks", {"plan-task": "guess"}
        yield "POST", f"{TABLE}/plan", {"filter": {"type": "nonsense"}}
        yield (
            "POST",
            TABLE,
            {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]},
        )
        yield "DELETE", TABLE, None
