"""Statistics of tables and partitions that clients keep here."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from headgate.decide import Op
from headgate.model.errors import IllegalArgument, IllegalStatisticName
from headgate.model.objects import clip
from headgate.model.records import Statistic
from headgate.steward.acts import act
from headgate.steward.kernel import Kernel
from headgate.steward.permits import Permit
from headgate.steward.reads.lenses import Lenses
from headgate.store import statistics
from headgate.store.metadata.statistics import WHOLE

WRITABLE: Final = "custom-"
"""How the names of statistics begin that clients may write."""


class Range(msgspec.Struct, frozen=True):
    """A span of partition names; None is open."""

    first: str | None = None
    last: str | None = None
    with_first: bool = True
    with_last: bool = False

    def holds(self, name: str) -> bool:
        if self.first is not None and (name < self.first or (name == self.first and not self.with_first)):
            return False
        return self.last is None or name < self.last or (name == self.last and self.with_last)


class Statistics:
    def __init__(self, kernel: Kernel, lenses: Lenses) -> None:
        self.kernel = kernel
        self.lenses = lenses

    @act(Op.READ_STATISTICS)
    def of_table(self, permit: Permit) -> list[Statistic]:
        """The statistics of a table, for those who see all of it: they speak of every row and every column."""
        if not self.lenses.of(permit).lens.whole:
            return []
        with self.kernel.store.read() as read:
            return statistics.of_table(read, permit.node.id)

    @act(Op.READ_STATISTICS)
    def of_partitions(self, permit: Permit, span: Range) -> dict[str, list[Statistic]]:
        """The statistics of the partitions in a span, by name; as those of the table."""
        if not self.lenses.of(permit).lens.whole:
            return {}
        with self.kernel.store.read() as read:
            found = statistics.of_partitions(read, permit.node.id)
        by_name: dict[str, list[Statistic]] = {}
        for one in found:
            if span.holds(one.partition):
                by_name.setdefault(one.partition, []).append(one)
        return by_name

    @act(Op.WRITE_STATISTICS)
    def update(self, permit: Permit, values: Mapping[str, Any]) -> None:
        self.update_partitions(permit, {WHOLE: values}, whole=True)

    @act(Op.WRITE_STATISTICS)
    def update_partitions(
        self, permit: Permit, values: Mapping[str, Mapping[str, Any]], *, whole: bool = False
    ) -> None:
        """Set values of several partitions, all or none."""
        for partition, named in values.items():
            _checked(partition, named, whole=whole)
        with self.kernel.change(permit) as tx:
            for partition, named in values.items():
                statistics.put(tx, permit.node.id, partition, named)

    @act(Op.WRITE_STATISTICS)
    def drop(self, permit: Permit, names: Iterable[str]) -> bool:
        return self.drop_partitions(permit, {WHOLE: list(names)}, whole=True)

    @act(Op.WRITE_STATISTICS)
    def drop_partitions(self, permit: Permit, names: Mapping[str, list[str]], *, whole: bool = False) -> bool:
        """Forget values of several partitions; False if none of them was there."""
        for partition, named in names.items():
            _checked(partition, named, whole=whole)
        with self.kernel.change(permit) as tx:
            gone = [
                statistics.drop(tx, permit.node.id, partition, named) for partition, named in names.items()
            ]
        return any(gone)


def _checked(partition: str, names: Iterable[str], *, whole: bool) -> None:
    if len(partition) > 512 or (not partition and not whole):
        raise IllegalArgument("a partition is named by 1 to 512 characters")
    named = list(names)
    if not named:
        raise IllegalArgument("no statistic is named", hint="name at least one")
    for name in named:
        if not name.startswith(WRITABLE) or name == WRITABLE or len(name) > 512 or not name.isprintable():
            raise IllegalStatisticName(
                f"statistic '{clip(name)}' cannot be written",
                hint=f"names that clients write begin with {WRITABLE}",
            )
