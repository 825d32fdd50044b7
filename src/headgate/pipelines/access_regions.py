"""The plane of principals × objects, cut into regions in which everything is the same.

Users whom the same holders speak for are one *kin*. For a kin the tree of objects is cut at its *nodes*: the objects that
anything is written about which concerns it, and all that hold those. Every other object is like its nearest node's other
objects of that type, so what a kin may do is said once for each region: a node itself, what lies in it, and what lies in it
only through schemas in schemas, by type. The number of regions follows from what is written, not from users × objects.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headgate.pipelines.access_tables import OWNERSHIP, SCHEMA, AccessTables, Bits

SELF: Final = 0
IN: Final = 1
UNDER: Final = 2
"""Where the objects of a region lie: at the node, in it, or in it only through schemas in schemas."""

REGION: Final = ["kin", "node", "place", "type"]


class Regions:
    """The frames of a matrix, kept while it is asked. INVARIANT: the regions of a kin are apart and cover all its objects."""

    def __init__(self, session: SparkSession, tables: AccessTables) -> None:
        self.session = session
        self.tables = tables
        self.bits = Bits(tables.actions)
        self.types = {type: n for n, type in enumerate(sorted(tables.actions))}
        self._kept: list[DataFrame] = []
        self.objects = self.kept(self._objects())
        self.above = self.kept(self._above())
        self.people = self.kept(self._people())
        self.facts = [self.kept(self._facts(side)) for side in range(len(tables.systems))]
        self.nodes = self.kept(self._nodes())
        self.regions = self.kept(self._regions())

    def kept(self, frame: DataFrame) -> DataFrame:
        self._kept.append(frame.persist())
        return self._kept[-1]

    def close(self) -> None:
        for frame in self._kept:
            frame.unpersist()

    def frame(self, columns: dict[str, pa.DataType], rows: Iterable[Iterable[Any]]) -> DataFrame:
        """A frame of these rows, handed over as columns."""
        values = list(zip(*rows, strict=True)) or [()] * len(columns)
        arrays = [pa.array(v, type=kind) for v, kind in zip(values, columns.values(), strict=True)]
        return self.session.createDataFrame(pa.table(arrays, names=list(columns)))

    # -- what is there -------------------------------------------------------------------------------------------

    def _objects(self) -> DataFrame:
        number = pa.int32()
        columns = {"object": number, "name": pa.string(), "type": number, "exists": pa.bool_()}
        columns |= dict.fromkeys(("parent", "catalog", "schema", "table"), number)
        return self.frame(columns, (o._replace(type=self.types[o.type]) for o in self.tables.objects))  # type: ignore[arg-type]

    def _above(self) -> DataFrame:
        columns = {"object": pa.int32(), "step": pa.int32(), "via": pa.int32(), "nested": pa.bool_()}
        place = F.when(F.col("via").isNull(), SELF).when(F.col("nested"), UNDER).otherwise(IN)
        return self.frame(columns, self.tables.above).select("object", "step", "via", place.alias("place"))

    def below(self) -> DataFrame:
        """For each node, the objects that exist at it or below, with the step that leads there."""
        there = self.objects.where("exists").select("object", "type")
        return self.above.join(there, "object").withColumnRenamed("step", "node")

    # -- kin -----------------------------------------------------------------------------------------------------

    def _people(self) -> DataFrame:
        """kin, user: those are together for whom in every system the same holders speak."""
        voices = _all(self._voices(side).withColumn("side", F.lit(side)) for side in self._sides)
        alike = voices.groupBy("user").agg(
            F.sort_array(F.collect_set(F.struct("side", "holder"))).alias("by")
        )
        kin = alike.groupBy("by").agg(F.min("user").alias("kin"), F.collect_list("user").alias("users"))
        return kin.select("kin", F.explode("users").alias("user"))

    @property
    def _sides(self) -> range:
        return range(len(self.tables.systems))

    def _voices(self, side: int) -> DataFrame:
        """user, holder: whom a user reaches of those that hold anything."""
        system = self.tables.systems[side]
        holders = {grant.holder for grant in system.grants} | {holder for holder, _ in system.owners}
        reach = (row for row in system.reach if row[1] in holders)
        return self.frame({"user": pa.int32(), "holder": pa.int32()}, reach)

    def _facts(self, side: int) -> DataFrame:
        """kin, step, privilege, denied: what is written in a system about a kin."""
        system = self.tables.systems[side]
        columns = {"holder": pa.int32(), "step": pa.int32(), "privilege": pa.int32(), "denied": pa.bool_()}
        owned = ((holder, object, OWNERSHIP, False) for holder, object in system.owners)
        written = self.frame(columns, [*system.grants, *owned])
        heads = self.people.select("kin").distinct()
        voices = self._voices(side).join(heads, F.col("user") == F.col("kin"))
        return voices.join(written, "holder").select("kin", "step", "privilege", "denied").distinct()

    # -- regions -------------------------------------------------------------------------------------------------

    def _nodes(self) -> DataFrame:
        """kin, node. INVARIANT: what holds a node is a node."""
        written = _all(facts.select("kin", F.col("step").alias("object")) for facts in self.facts).distinct()
        return written.join(self.above, "object").select("kin", F.col("step").alias("node")).distinct()

    def _regions(self) -> DataFrame:
        """kin, node, place, type, size: those with any objects, and how many."""
        extent = self.kept(self.below().groupBy("node", "place", "type").agg(F.count("*").alias("size")))
        schema = self.types[SCHEMA]
        upper = self.objects.select(F.col("object").alias("parent"), F.col("type").alias("upper"))
        lower = self.objects.select(F.col("object").alias("node"), "parent", F.col("type").alias("lower"))
        inner = (F.col("lower") == schema) & (F.col("upper") == schema)
        # What lies at or below a node is no longer its parent's.
        taken = (
            extent.groupBy("node", "type")
            .agg(F.sum("size").alias("size"))
            .join(lower, "node")
            .join(upper, "parent")
            .select(
                "node", "parent", F.when(inner, UNDER).otherwise(IN).alias("place"), "type", -F.col("size")
            )
            .toDF("node", "parent", "place", "type", "size")
        )
        own = self.nodes.join(extent, "node").select(*REGION, "size")
        theirs = self.nodes.join(taken, "node").select(
            "kin", F.col("parent").alias("node"), "place", "type", "size"
        )
        return own.union(theirs).groupBy(*REGION).agg(F.sum("size").alias("size")).where("size > 0")


def _all(frames: Iterable[DataFrame]) -> DataFrame:
    union: Callable[[DataFrame, DataFrame], DataFrame] = DataFrame.union
    return reduce(union, frames)
