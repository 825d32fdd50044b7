"""A worker without Spark, for what is about the ledger and not about rows: every copy is a small file of its own."""

from pathlib import Path

from headgate.lenses.copies import CopyFile, GovernedCopy
from headgate.steward import Steward
from headgate.steward.reads.copies.workshop import Order


def make(steward: Steward, order: Order) -> list[GovernedCopy]:
    """What a job would have made."""
    folder = Path(order.job.output.removeprefix("file://")) / "data" / order.batch.worker
    folder.mkdir(parents=True, exist_ok=True)
    copies = []
    for source in order.job.sources:
        key = order.job.key(source)
        path = folder / f"{key[:16]}.parquet"
        path.write_bytes(b"copy of " + source.paths[0].rpartition("/")[2].encode())
        copies.append(
            GovernedCopy(
                key,
                source,
                (CopyFile(f"file://{path}", path.stat().st_size, 1),),
                field_ids=frozenset(order.job.lens.schema.by_id),
                last_column_id=int(order.job.document["last-column-id"]),
            )
        )
    return copies


def copy_all(steward: Steward, worker: str = "copyist") -> int:
    """Make everything that waits; answers how many copies were recorded."""
    count = 0
    while (order := steward.workshop.take(worker)) is not None:
        count += steward.workshop.made(order, make(steward, order))
    return count
