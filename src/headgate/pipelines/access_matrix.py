"""Effective access of principals × objects × actions on Spark: of one system, or of two and the difference between them.

The answer is kept by regions (see `access_regions`) and each region's actions as the bits of one number. It is spelled out by
user, object and action only when that is asked for, and only for the regions it is asked of.
"""

from types import TracebackType

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headgate.pipelines.access_regions import IN, REGION, SELF, UNDER, Regions
from headgate.pipelines.access_tables import (
    CATALOG,
    COLUMN,
    OWNERSHIP,
    SCHEMA,
    TABLE,
    USE_CATALOG,
    USE_SCHEMA,
    AccessSystem,
    AccessTables,
)


class AccessMatrix:
    """Who may do what in each of the systems, and who may do more in one than in another."""

    def __init__(self, session: SparkSession, tables: AccessTables) -> None:
        self.regions = Regions(session, tables)
        self.tables = tables
        self.allowed = [
            self.regions.kept(self._allowed(side, system)) for side, system in enumerate(tables.systems)
        ]
        """kin, node, place, type, mask of each system."""

    def __enter__(self) -> "AccessMatrix":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.regions.close()

    # -- questions -----------------------------------------------------------------------------------------------

    def access(self, side: int = 0) -> DataFrame:
        """user, object, action: everything that every user may do in a system."""
        return self._spelled_out(self.allowed[side])

    def count(self, side: int = 0) -> int:
        """How many rows `access` has, without making them."""
        return self._counted(self.allowed[side])

    def beyond(self, one: int, other: int) -> DataFrame:
        """user, object, action: what users may do in the one system and not in the other; gates are no access."""
        return self._spelled_out(self._beyond(one, other))

    def count_beyond(self, one: int, other: int) -> int:
        """How many rows `beyond` has, without making them."""
        return self._counted(self._beyond(one, other))

    # -- what is allowed in a region -----------------------------------------------------------------------------

    def _allowed(self, side: int, system: AccessSystem) -> DataFrame:
        raw = self._raw(side, system)
        met = raw.withColumn("mask", self._without_needy(system)) if system.needs else raw
        return (self._through_gates(met, system) if system.gates else met).where("mask != 0")

    def _raw(self, side: int, system: AccessSystem) -> DataFrame:
        """What is granted to a kin on the way to a region and not denied there, or comes with ownership."""
        regions = self.regions
        types = regions.objects.select(F.col("object").alias("step"), F.col("type").alias("bound_to"))
        # The steps of a node; a fact at the node itself may be about the node alone.
        way = regions.above.select(F.col("object").alias("node"), "step", F.col("place").alias("far"))
        written = (
            regions.nodes.join(way, "node").join(regions.facts[side], ["kin", "step"]).join(types, "step")
        )
        inherits = [regions.types[type] for type in system.inherits]
        reaches_down = F.when(F.col("privilege") == OWNERSHIP, system.owner_inherits).otherwise(
            F.col("bound_to").isin(inherits)
        )
        # Where the objects of the region lie, seen from the step.
        seen = F.when(F.col("far") == SELF, F.col("place")).otherwise(F.col("far"))
        near = F.lit(True) if system.nested_schemas else seen != UNDER
        met = written.join(regions.regions, ["kin", "node"]).where((seen == SELF) | (reaches_down & near))
        given = met.join(F.broadcast(self._gives(system)), ["bound_to", "privilege", "type"], "left")
        given = given.where("gives IS NOT NULL OR denied")
        if any(grant.denied for grant in system.grants):
            allow = F.when(F.col("denied"), 0).otherwise(F.col("gives"))
            given = (
                given.groupBy(*REGION, "privilege")
                .agg(F.bit_or(allow).alias("gives"), F.bool_or("denied").alias("denied"))
                .where("NOT denied")
            )
        return given.groupBy(*REGION).agg(F.bit_or("gives").alias("mask"))

    def _gives(self, system: AccessSystem) -> DataFrame:
        types, bits = self.regions.types, self.regions.bits
        masks: dict[tuple[int, int, int], int] = {}
        for bound_to, privilege, action in system.gives:
            key = (types[bound_to], privilege, types[bits.type_of[action]])
            masks[key] = masks.get(key, 0) | bits.of[action]
        for at in types.values():
            for type, all in bits.all.items():
                masks[at, OWNERSHIP, types[type]] = all
        columns = dict.fromkeys(("bound_to", "privilege", "type"), pa.int32()) | {"gives": pa.int64()}
        return self.regions.frame(columns, ((*key, mask) for key, mask in masks.items()))

    def _without_needy(self, system: AccessSystem) -> Column:
        """The mask without the actions that lack another which they need."""
        bits, mask = self.regions.bits, F.col("mask")
        lost: Column = F.lit(0).cast("long")
        for action, others in system.needs.items():
            type = bits.type_of[action]
            needed = bits.mask(frozenset(o for o in others if bits.type_of[o] == type))
            # What is done to another type of object is never done to this one.
            never = any(bits.type_of[other] != type for other in others)
            lacks = F.lit(True) if never else mask.bitwiseAND(F.lit(needed)) != needed
            here = F.col("type") == self.regions.types[type]
            lost = lost.bitwiseOR(F.when(here & lacks, F.lit(bits.of[action]).cast("long")).otherwise(0))
        return mask.bitwiseAND(F.bitwise_not(lost))

    # -- gates ---------------------------------------------------------------------------------------------------

    def _through_gates(self, raw: DataFrame, system: AccessSystem) -> DataFrame:
        """What remains of the masks behind open gates."""
        placed = raw.join(self._places(), "node")
        catalogs = self._open(raw, CATALOG, USE_CATALOG)
        placed = _marked(placed, catalogs, _catalog_of_region(), "catalog_open")
        placed = placed.withColumn("mask", self._behind(system, USE_CATALOG, (USE_CATALOG,), "catalog_open"))
        # The use of a schema counts only as far as the catalog's is open, so it is looked for in what is left.
        schemas = self._open(placed.select(*REGION, "mask"), SCHEMA, USE_SCHEMA)
        placed = _marked(placed, schemas, _schema_of_region(), "schema_open")
        both = (USE_CATALOG, USE_SCHEMA)
        return placed.select(*REGION, self._behind(system, USE_SCHEMA, both, "schema_open").alias("mask"))

    def _places(self) -> DataFrame:
        objects = self.regions.objects
        types = self.regions.types
        kind = F.when(F.col("parent").isNull(), "root").when(F.col("type") == types[CATALOG], "catalog")
        kind = kind.when(F.col("type") == types[TABLE], "table").when(
            F.col("type") == types[COLUMN], "column"
        )
        return objects.select(
            F.col("object").alias("node"), kind.otherwise("other").alias("kind"), "catalog", "schema", "table"
        )

    def _open(self, masks: DataFrame, type: str, use: str) -> DataFrame:
        """kin, node, place of the catalogs or schemas whose use is allowed."""
        used = F.col("mask").bitwiseAND(F.lit(self.regions.bits.of[use])) != 0
        return masks.where((F.col("type") == self.regions.types[type]) & used).select("kin", "node", "place")

    def _behind(self, system: AccessSystem, use: str, exempt: tuple[str, ...], open: str) -> Column:
        """The mask, without what needs this use where it is not open."""
        bits, types = self.regions.bits, self.regions.types
        lost: Column = F.lit(0).cast("long")
        for type in types:
            behind = [
                action
                for action in self.tables.actions[type]
                if action not in exempt and use in system.gates.get(action, ())
            ]
            if behind:
                here = F.col("type") == types[type]
                lost = lost.bitwiseOR(F.when(here, F.lit(bits.mask(tuple(behind))).cast("long")).otherwise(0))
        mask = F.col("mask")
        return F.when(F.col(open), mask).otherwise(mask.bitwiseAND(F.bitwise_not(lost)))

    # -- the difference ------------------------------------------------------------------------------------------

    def _beyond(self, one: int, other: int) -> DataFrame:
        bits, types = self.regions.bits, self.regions.types
        theirs = self.allowed[other].withColumnRenamed("mask", "other")
        held = self.allowed[one].join(theirs, REGION, "left")
        extra = F.col("mask").bitwiseAND(F.bitwise_not(F.coalesce("other", F.lit(0).cast("long"))))
        for type, use in ((CATALOG, USE_CATALOG), (SCHEMA, USE_SCHEMA)):
            gate = F.when(F.col("type") == types[type], F.lit(bits.of[use]).cast("long")).otherwise(0)
            extra = extra.bitwiseAND(F.bitwise_not(gate))
        held = held.withColumn("mask", extra).where("mask != 0")
        if any(object.type == COLUMN for object in self.tables.objects):
            held = self._uncovered(held, other)
        return held.select(*REGION, "mask")

    def _uncovered(self, held: DataFrame, other: int) -> DataFrame:
        """What is not allowed to a column's whole table either."""
        bits, types = self.regions.bits, self.regions.types
        tables = self.allowed[other].where(F.col("type") == types[TABLE])
        tables = tables.select("kin", F.col("node").alias("at"), F.col("place").alias("spot"), "mask")
        tables = tables.withColumnRenamed("mask", "whole")
        placed = held.join(self._places(), "node")
        node, place = _table_of_region()
        placed = placed.withColumns({"at": node, "spot": place}).join(tables, ["kin", "at", "spot"], "left")
        covered: Column = F.lit(0).cast("long")
        for action in self.tables.actions[COLUMN]:
            same = bits.of[f"{TABLE}.{action.partition('.')[2]}"]
            has = F.coalesce(F.col("whole"), F.lit(0).cast("long")).bitwiseAND(F.lit(same)) != 0
            covered = covered.bitwiseOR(F.when(has, F.lit(bits.of[action]).cast("long")).otherwise(0))
        rest = F.col("mask").bitwiseAND(F.bitwise_not(covered))
        column = F.col("type") == types[COLUMN]
        return placed.withColumn("mask", F.when(column, rest).otherwise(F.col("mask"))).where("mask != 0")

    # -- spelled out ---------------------------------------------------------------------------------------------

    def _spelled_out(self, masks: DataFrame) -> DataFrame:
        regions = self.regions
        objects = masks.join(regions.below(), ["node", "place", "type"])
        nearer = regions.nodes.select("kin", F.col("node").alias("via"))
        objects = objects.join(nearer, ["kin", "via"], "left_anti")
        names = regions.objects.select("object", "name")
        users = regions.frame({"user": pa.int32(), "who": pa.string()}, enumerate(self.tables.users))
        return (
            objects.join(regions.people, "kin")
            .join(users, "user")
            .join(names, "object")
            .join(F.broadcast(self._actions()), "type")
            .where(F.col("mask").bitwiseAND(F.col("bit")) != 0)
            .select(F.col("who").alias("user"), F.col("name").alias("object"), "action")
        )

    def _actions(self) -> DataFrame:
        bits = self.regions.bits
        columns = {"type": pa.int32(), "bit": pa.int64(), "action": pa.string()}
        rows = [(self.regions.types[bits.type_of[action]], bit, action) for action, bit in bits.of.items()]
        return self.regions.frame(columns, rows)

    def _counted(self, masks: DataFrame) -> int:
        users = self.regions.people.groupBy("kin").agg(F.count("*").alias("users"))
        rows = masks.join(self.regions.regions, REGION).join(users, "kin")
        total = rows.agg(F.sum(F.col("users") * F.col("size") * F.bit_count("mask"))).collect()[0][0]
        return int(total or 0)


def _catalog_of_region() -> tuple[Column, Column]:
    """The region in which the catalog of another region's objects lies."""
    root = F.col("kind") == "root"
    return F.when(root, F.col("node")).otherwise(F.col("catalog")), F.when(root, IN).otherwise(SELF)


def _schema_of_region() -> tuple[Column, Column]:
    """The region in which the schema of another region's objects lies."""
    upper, under = F.col("kind").isin("root", "catalog"), F.col("place") == UNDER
    node = F.when(upper | under, F.col("node")).otherwise(F.col("schema"))
    return node, F.when(upper, IN).when(under, UNDER).otherwise(SELF)


def _table_of_region() -> tuple[Column, Column]:
    """The region in which the table of another region's columns lies."""
    column, table = F.col("kind") == "column", F.col("kind") == "table"
    node = F.when(column, F.col("table")).otherwise(F.col("node"))
    return node, F.when(column | table, SELF).otherwise(F.col("place"))


def _marked(placed: DataFrame, open: DataFrame, gate: tuple[Column, Column], name: str) -> DataFrame:
    """With a flag that says whether the gate of each region is among the open ones."""
    flags = open.select(
        "kin", F.col("node").alias("at"), F.col("place").alias("spot"), F.lit(True).alias(name)
    )
    node, place = gate
    found = placed.withColumns({"at": node, "spot": place}).join(flags, ["kin", "at", "spot"], "left")
    return found.withColumn(name, F.coalesce(F.col(name), F.lit(False))).drop("at", "spot")
