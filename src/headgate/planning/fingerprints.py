"""The files of a plan as numbers: enough to say later whether a file was named, far smaller than their names."""

from __future__ import annotations

import hashlib

import numpy as np

from headgate.catalogs.locations import normal
from headgate.planning.columns import Array
from headgate.planning.plan import Pick, Plan
from headgate.planning.segment import Segment

BYTES = 8


def fingerprint(path: str) -> int:
    """The first eight bytes of the SHA-256 of a file's location, in the one spelling of `locations.normal`."""
    return int.from_bytes(hashlib.sha256(normal(path).encode()).digest()[:BYTES], "big")


def fingerprints(plan: Plan) -> Array:
    """The fingerprints of all data files of a plan and of the delete files that go with them, sorted, each once."""
    parts = [_of(plan, pick.segment)[pick.rows] for pick in plan.picks]
    deletes = {number for pick in plan.picks for number in _deletes(plan, pick)}
    files = [plan.deletes.files[number] for number in sorted(deletes)]
    parts.append(np.array([fingerprint(f.segment.path_at(f.row)) for f in files], np.uint64))
    return np.unique(np.concatenate(parts))


def _of(plan: Plan, segment: Segment) -> Array:
    """Those of a whole segment, worked out once and kept with it."""
    key = f"fingerprints|{segment.path}|{segment.nbytes}"
    return plan.index.keep(key, lambda: _made(segment), lambda made: int(made.nbytes))


def _made(segment: Segment) -> Array:
    paths = segment.paths(np.arange(segment.count))
    return np.array([fingerprint(str(path.as_py(), "utf-8")) for path in paths], np.uint64)


def _deletes(plan: Plan, pick: Pick) -> set[int]:
    applying = plan.deletes.applying_to(pick.segment, pick.spec, pick.rows)
    return {number for numbers in applying.values() for number in numbers}
