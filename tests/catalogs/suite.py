"""What every catalog of tables must do, whatever is behind it. Run over each adapter by `test_adapters.py`."""

from contextlib import nullcontext

import pytest

from headgate.catalogs.interface import (
    IcebergCatalog,
    Staged,
    TableCatalog,
    TablePlace,
    holds_documents,
    keeps_names,
)
from headgate.model import tables as t
from headgate.model.errors import AlreadyExists, Conflict, IllegalArgument, NotFound, Unsupported
from headgate.model.objects import ObjectType
from headgate.planning import Within
from headgate.planning.manifests import partitions
from headgate.planning.manifests.reader import ManifestReader
from headgate.store import Store, objects
from tests.catalogs.abilities import ICEBERG, Abilities

REFUSED = (IllegalArgument, Unsupported)


class Opened:
    """An adapter with a store for its object rows, as the steward would use it."""

    def __init__(self, catalog: TableCatalog, store: Store, abilities: Abilities = ICEBERG) -> None:
        self.catalog = catalog
        self.abilities = abilities
        self.store = store
        with store.write("test", "prepare") as tx:
            self.metalake = objects.create(tx, 0, 0, ObjectType.METALAKE, "lake")
            self.schema = objects.create(tx, self.metalake, self.metalake, ObjectType.SCHEMA, "s")

    def create(self, definition: t.TableDefinition) -> TablePlace:
        staged = self.catalog.create_table(TablePlace(("s",), definition.name), definition)
        with self.store.write("test", "create") as tx:
            id = objects.create(tx, self.schema, self.metalake, ObjectType.TABLE, definition.name)
            staged.commit(tx, id)
        return TablePlace(("s",), definition.name, id)

    def partitions(self, at: TablePlace) -> list[t.Partition]:
        assert isinstance(self.catalog, IcebergCatalog)
        document = self.catalog.document(at)
        reader = ManifestReader(self.catalog.storage.io, Within(self.catalog.own_folders(document)))
        return partitions.listed(document.metadata, reader)

    def commit(self, staged: Staged, at: TablePlace) -> t.LoadedTable:
        with self.store.write("test", "commit") as tx:
            staged.commit(tx, at.object)
        return staged.result

    def alter(self, at: TablePlace, *changes: t.TableChange) -> t.LoadedTable:
        return self.commit(self.catalog.alter_table(at, changes), at)


def table(*columns: tuple[str, t.DataType], **more: object) -> t.TableDefinition:
    """A table of these columns."""
    made = tuple(t.TableColumn(name, type) for name, type in columns)
    return t.TableDefinition("t", made, **more)  # type: ignore[arg-type]


class CatalogSuite:
    """Tests take `opened`, which a subclass provides."""

    def test_answers_a_connection_test(self, opened: Opened) -> None:
        opened.catalog.test()

    def test_every_type_comes_back_as_it_went_in(self, opened: Opened) -> None:
        types = opened.abilities.types
        definition = table(*((f"c{n}", type) for n, type in enumerate(types)))
        at = opened.create(definition)
        loaded = opened.catalog.load_table(at)
        assert loaded.definition.columns == definition.columns
        assert len(set(loaded.fields.values())) == len(types)

    def test_comments_nullability_and_properties_come_back(self, opened: Opened) -> None:
        columns = (t.TableColumn("id", "long", "the key", nullable=False), t.TableColumn("name", "string"))
        properties = {"k": "v"}
        if not opened.abilities.properties:
            with pytest.raises(REFUSED):
                opened.create(t.TableDefinition("t", columns, "a table", properties))
            properties = {}
        at = opened.create(t.TableDefinition("t", columns, "a table", properties))
        loaded = opened.catalog.load_table(at).definition
        assert loaded.columns == columns
        assert (loaded.comment, loaded.properties.get("k")) == ("a table", properties.get("k"))

    def test_partitioning_and_sort_order_come_back(self, opened: Opened) -> None:
        steps = (
            t.Partitioning("identity", field_name=("region",)),
            t.Partitioning("day", field_name=("at",)),
            t.Partitioning("bucket", field_names=(("id",),), num_buckets=16),
            t.Partitioning("truncate", field_name=("name",), width=4),
        )
        id = t.Expression("field", field_name=("id",))
        number = t.Expression("literal", data_type="integer", value="8")
        orders = (
            t.SortOrder(id, "desc", "nulls_last"),
            t.SortOrder(
                t.Expression("function", function_name="bucket", func_args=(number, id)), "asc", "nulls_first"
            ),
        )
        columns = (("id", "long"), ("region", "string"), ("at", "timestamp_tz"), ("name", "string"))
        if not opened.abilities.layout:
            for more in ({"partitioning": steps}, {"sort_orders": orders}):
                with pytest.raises(REFUSED):
                    opened.create(table(*columns, **more))
            return
        at = opened.create(table(*columns, partitioning=steps, sort_orders=orders))
        loaded = opened.catalog.load_table(at).definition
        assert loaded.partitioning == steps
        assert loaded.sort_orders == orders

    def test_columns_keep_their_ids_through_every_change(self, opened: Opened) -> None:
        can = opened.abilities
        at = opened.create(table(("a", "integer"), ("b", "string"), ("c", "float")))
        before = opened.catalog.load_table(at).fields
        struct: t.DataType = t.StructDataType((t.StructField("x", "long"),)) if can.nested else "long"
        changes: list[t.TableChange] = [
            t.AddColumn(("d",), struct, "new", t.After("a") if can.ordered else None),
            t.RenameColumn(("a",), "key"),
            t.UpdateColumnType(("key",), "long"),
            t.UpdateColumnComment(("b",), "text"),
            *([t.UpdateColumnPosition(("c",), "first")] if can.ordered else []),
            *([t.AddColumn(("d", "y"), "string")] if can.nested else []),
            t.DeleteColumn(("b",)),
            t.DeleteColumn(("nothing",), True),
        ]
        after = opened.alter(at, *changes)
        loaded = opened.catalog.load_table(at)
        assert loaded.definition == after.definition
        assert after.fields.items() <= loaded.fields.items()
        columns = loaded.definition.columns
        assert [column.name for column in columns] == (
            ["c", "key", "d"] if can.ordered else ["key", "c", "d"]
        )
        assert loaded.definition.columns[1 if can.ordered else 0].type == "long"
        struct = columns[2].type
        if isinstance(struct, t.StructDataType):
            assert [field.name for field in struct.fields] == ["x", "y"]
        assert isinstance(struct, t.StructDataType) is can.nested
        assert loaded.fields["key"] == before["a"]
        assert loaded.fields["c"] == before["c"]
        # What came after the drop of b gets none of its ids.
        opened.alter(at, t.AddColumn(("b",), "string"))
        again = opened.catalog.load_table(at)
        assert (again.fields["b"] in before.values()) is False

    def test_a_later_change_of_a_list_sees_the_earlier_ones(self, opened: Opened) -> None:
        at = opened.create(table(("a", "integer"), ("b", "string")))
        opened.alter(
            at, t.RenameColumn(("a",), "x"), t.RenameColumn(("b",), "a"), t.RenameColumn(("x",), "b")
        )
        columns = opened.catalog.load_table(at).definition.columns
        assert [(column.name, column.type) for column in columns] == [("b", "integer"), ("a", "string")]

    def test_comment_and_properties_change(self, opened: Opened) -> None:
        if not opened.abilities.properties:
            at = opened.create(table(("a", "integer"), comment="old"))
            opened.alter(at, t.UpdateTableComment("new"))
            assert opened.catalog.load_table(at).definition.comment == "new"
            for change in (t.SetTableProperty("k", "w"), t.RemoveTableProperty("x")):
                with pytest.raises(REFUSED):
                    opened.catalog.alter_table(at, (change,))
            return
        at = opened.create(table(("a", "integer"), comment="old", properties={"k": "v", "x": "y"}))
        opened.alter(
            at, t.UpdateTableComment("new"), t.SetTableProperty("k", "w"), t.RemoveTableProperty("x")
        )
        loaded = opened.catalog.load_table(at).definition
        assert (loaded.comment, loaded.properties["k"]) == ("new", "w")
        assert "x" not in loaded.properties

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("change", "error", "unless"),
        [
            (t.RenameColumn(("none",), "x"), NotFound, ""),
            (t.DeleteColumn(("none",)), NotFound, ""),
            (t.RenameColumn(("a",), "b"), AlreadyExists, ""),
            (t.AddColumn(("b",), "string"), AlreadyExists, ""),
            (t.AddColumn(("z",), "string", nullable=False), IllegalArgument, "required"),
            (t.AddColumn(("z",), "string", auto_increment=True), IllegalArgument, ""),
            (t.AddColumn(("z",), "string", None, t.After("none")), NotFound, ""),
            (t.AddColumn(("z",), "string", None, "middle"), IllegalArgument, ""),
            (t.AddColumn(("a", "z"), "string"), IllegalArgument, ""),
            (t.AddColumn(("",), "string"), IllegalArgument, ""),
            (t.UpdateColumnType(("b",), "integer"), IllegalArgument, "any type"),
            (t.UpdateColumnNullability(("b",), False), IllegalArgument, "nullability"),
            (t.UpdateColumnAutoIncrement(("b",), True), IllegalArgument, ""),
            (
                t.UpdateColumnDefaultValue(("a",), t.Expression("literal", "integer", "7")),
                IllegalArgument,
                "default",
            ),
            (t.DeleteColumn(("region",)), IllegalArgument, "index"),
            (t.DeleteColumn(()), NotFound, ""),
            (
                t.UpdateColumnType(("s",), t.StructDataType((t.StructField("b", "string"),))),
                IllegalArgument,
                "",
            ),
            (t.RenameColumn(("s", "x"), "y z"), AlreadyExists, ""),
            (t.AddColumn(("s.x",), "string"), AlreadyExists, "flat"),
            (t.DeleteColumn(("s.x",)), NotFound, ""),
            (t.AddIndex(t.Index("primary_key", (("a",),))), IllegalArgument, "index"),
            (t.SetTableProperty("write.data.path", "s3://elsewhere/x"), IllegalArgument, ""),
            (t.SetTableProperty("write.metadata.path", "file:///etc"), IllegalArgument, ""),
            (t.SetTableProperty("write.py-location-provider.impl", "os.system"), IllegalArgument, ""),
            (t.SetTableProperty("location", "file:///etc"), IllegalArgument, ""),
        ],
    )
    def test_a_change_that_is_refused_changes_nothing(
        self, opened: Opened, change: t.TableChange, error: type[Exception], unless: str
    ) -> None:
        can = opened.abilities
        region = (t.Partitioning("identity", field_name=("region",)),) if can.layout else ()
        inner = t.StructDataType((t.StructField("x", "string"), t.StructField("y z", "string")))
        columns = (
            ("a", "integer"),
            ("b", "string"),
            ("region", "string"),
            ("s", inner if can.nested else "string"),
        )
        at = opened.create(table(*columns, partitioning=region))
        before = opened.catalog.load_table(at)
        if unless in can.more:
            opened.alter(at, change)
            assert opened.catalog.load_table(at) != before
            return
        # Where there are no fields inside of columns, a change of one is refused by another word.
        with pytest.raises(error if can is ICEBERG else (*REFUSED, NotFound, AlreadyExists)):
            opened.catalog.alter_table(at, (t.UpdateTableComment("x"), change))
        assert opened.catalog.load_table(at) == before

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("wrong", "unless"),
        [
            (table(), ""),
            (table(("a", "integer"), ("a", "string")), ""),
            (table(("a", "char(3)")), "sized"),
            (table(("a", "integer unsigned")), "unsigned"),
            (table(("a", "decimal(99,2)")), ""),
            (table(("a", "byte")), "byte"),
            (table(("a", "nonsense")), ""),
            (table(("a", t.UnionType(("string", "long")))), ""),
            (table(("a", "integer"), indexes=(t.Index("primary_key", (("a",),)),)), "index"),
            (table(("a", "integer"), distribution=t.Distribution("hash", 4)), ""),
            (table(("a", "integer"), partitioning=(t.Partitioning("list", field_name=("a",)),)), ""),
            (table(("a", "integer"), partitioning=(t.Partitioning("day", field_name=("a",)),)), ""),
            (table(("a", "integer"), partitioning=(t.Partitioning("bucket", field_names=(("a",),)),)), ""),
            (table(("a.b", "string"), ("a", t.StructDataType((t.StructField("b", "string"),)))), ""),
            (
                table(
                    ("a.b", "string"),
                    ("a", t.StructDataType((t.StructField("b", "string"),))),
                    partitioning=(t.Partitioning("identity", field_name=("a", "b")),),
                ),
                "",
            ),
            (table(("a", t.StructDataType(()))), ""),
            (
                table(
                    ("a", t.ListDataType("integer")),
                    partitioning=(t.Partitioning("identity", field_name=("a",)),),
                ),
                "",
            ),
            (table(("a", "integer"), partitioning=(t.Partitioning("identity", field_name=("a",)),) * 2), ""),
            (table(("a", "integer"), sort_orders=(t.SortOrder(t.Expression("literal")),)), ""),
            (
                table(
                    ("a", "integer"),
                    sort_orders=(t.SortOrder(t.Expression("field", field_name=("a",)), "up"),),
                ),
                "",
            ),
            (table(("a", "integer"), properties={"format-version": "9"}), ""),
            (table(("a", "integer"), properties={"location": "file:///etc"}), ""),
            (t.TableDefinition("t", (t.TableColumn("a", "long", auto_increment=True),)), "counting"),
            (
                t.TableDefinition("t", (t.TableColumn("a", "long", default_value=t.Expression("literal")),)),
                "default",
            ),
        ],
    )
    def test_a_table_that_cannot_be_is_refused(
        self, opened: Opened, wrong: t.TableDefinition, unless: str
    ) -> None:
        if unless in opened.abilities.more:
            opened.create(wrong)
            return
        with pytest.raises(IllegalArgument) as refused:
            opened.catalog.create_table(TablePlace(("s",), "t"), wrong)
        assert refused.value.message

    def test_types_nested_too_deeply_are_refused(self, opened: Opened) -> None:
        deep: t.DataType = "string"
        for _ in range(100):
            deep = t.ListDataType(deep)
        with pytest.raises(IllegalArgument, match="deep"):
            opened.catalog.create_table(TablePlace(("s",), "t"), table(("a", deep)))

    def test_a_dot_in_a_name_is_not_nesting(self, opened: Opened) -> None:
        at = opened.create(table(("a.b", "string"), ("c", "string")))
        with pytest.raises(NotFound):
            opened.catalog.alter_table(at, (t.DeleteColumn(("a", "b")),))
        inner = t.StructDataType((t.StructField("b", "string"),))
        if not opened.abilities.nested:
            with pytest.raises(REFUSED):
                opened.catalog.alter_table(at, (t.AddColumn(("a",), inner),))
            return
        for change in (t.AddColumn(("a",), inner), t.AddColumn(("a",), t.MapDataType("string", inner))):
            with pytest.raises(IllegalArgument) if change.type is inner else nullcontext():
                opened.catalog.alter_table(at, (change,))

    def test_no_change_is_lost_to_another(self, opened: Opened) -> None:
        at = opened.create(table(("a", "integer")))
        first = opened.catalog.alter_table(at, (t.AddColumn(("b",), "string"),))
        second = opened.catalog.alter_table(at, (t.AddColumn(("c",), "string"),))
        opened.commit(first, at)
        if opened.catalog.outside:
            # Another system changes what it keeps at once, so the second was made from what the first left.
            opened.commit(second, at)
            assert list(opened.catalog.load_table(at).fields) == ["a", "b", "c"]
            return
        with pytest.raises(Conflict):
            opened.commit(second, at)
        second.abandon()
        assert list(opened.catalog.load_table(at).fields) == ["a", "b"]

    def test_what_is_abandoned_was_never_there(self, opened: Opened) -> None:
        at = opened.create(table(("a", "integer")))
        opened.catalog.alter_table(at, (t.AddColumn(("b",), "string"),)).abandon()
        assert list(opened.catalog.load_table(at).fields) == ["a"]
        other = TablePlace(("s",), "u")
        opened.catalog.create_table(other, table(("a", "integer"))).abandon()
        if keeps_names(opened.catalog):
            assert opened.catalog.entries(("s",), ObjectType.TABLE) == ["t"]

    def test_a_table_that_was_dropped_can_be_made_again(self, opened: Opened) -> None:
        at = opened.create(table(("a", "integer")))
        with opened.store.write("test", "drop") as tx:
            opened.catalog.drop_table(at, purge=False).commit(tx, at.object)
            objects.drop(tx, at.object)
        again = opened.create(table(("b", "string")))
        assert list(opened.catalog.load_table(again).fields) == ["b"]

    def test_a_table_without_partitions_has_none_to_list(self, opened: Opened) -> None:
        at = opened.create(table(("a", "integer")))
        if not holds_documents(opened.catalog):
            return
        with pytest.raises(Unsupported):
            opened.partitions(at)
