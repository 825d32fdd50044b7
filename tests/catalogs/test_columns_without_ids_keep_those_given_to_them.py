"""Columns of systems that know no ids get theirs here, and keep them under every name; what cannot be told loses no tag."""

from pathlib import Path

import pytest

from headgate.catalogs.outside.claims import Claims
from headgate.model import tables as t
from headgate.model.errors import Forbidden, Unavailable
from headgate.model.objects import ObjectType
from headgate.model.schema import Schema
from headgate.store import Store, objects, outside_tables


class Columns:
    """One table of another system, as its columns come and go there."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.claims = Claims(store, "a metastore", None)
        with store.write("test", "prepare") as tx:
            self.schema = objects.create(tx, 0, 0, ObjectType.METALAKE, "lake")
            self.table = objects.create(tx, self.schema, self.schema, ObjectType.TABLE, "t")

    def seen(self, *columns: str | t.TableColumn, made: str = "1") -> dict[str, int]:
        """The ids of the columns, once the other system shows these."""
        listed = tuple(c if isinstance(c, t.TableColumn) else t.TableColumn(c, "string") for c in columns)
        document = self.claims.own_columns(self.table, made, "s3://theirs/t", listed)
        schema = Schema.from_json(document.metadata["schemas"][0])
        return {".".join(at.path): at.field.id for at in schema.walk()}

    def replaced(self) -> list[tuple[str, ...]]:
        """Names of columns that a former table had."""
        with self.store.read() as read:
            return [each.path for each in outside_tables.past(read, self.table).replaced]


@pytest.fixture
def columns(store: Store) -> Columns:
    return Columns(store)


def test_names_that_stay_keep_their_ids_wherever_they_stand(columns: Columns) -> None:
    before = columns.seen("a", "b", "c")
    assert columns.seen("c", "new", "a", "b") == {**before, "new": 4}
    assert columns.seen("b", "new") == {"b": before["b"], "new": 4}
    assert columns.seen("b", "new", "d")["d"] == 5, "an id that was given is nobody else's"


def test_one_column_in_the_place_of_one_other_was_renamed(columns: Columns) -> None:
    before = columns.seen("a", "b")
    assert columns.seen("x", "b") == {"x": before["a"], "b": before["b"]}
    assert columns.seen("a", "b") == before
    assert columns.replaced() == []


@pytest.mark.parametrize(
    "after", [("b", "x"), ("x", "y", "b"), ("x", "y"), ("b", "x", "y"), ("x",)], ids=" ".join
)
def test_what_cannot_be_told_apart_counts_as_made_again(columns: Columns, after: tuple[str, ...]) -> None:
    columns.seen("a", "b")
    with pytest.raises(Unavailable, match="made again"):
        columns.seen(*after)
    ids = columns.seen(*after)
    assert list(ids) == list(after)
    assert set(columns.replaced()) == {("a",), ("b",)}, "what was said of these names is kept under them"


def test_a_name_that_was_announced_is_no_new_column(columns: Columns) -> None:
    before = columns.seen("a", "b")
    columns.claims.renaming(columns.table, [(before["a"], 0, ("x",)), (before["b"], 0, ("y",))])
    assert columns.seen("y", "x") == {"y": before["b"], "x": before["a"]}


def test_a_table_that_was_made_again_is_another(columns: Columns) -> None:
    columns.seen("a", "b")
    with pytest.raises(Unavailable, match="made again"):
        columns.seen("a", "b", made="2")
    columns.seen("a", "b", made="2")
    assert set(columns.replaced()) == {("a",), ("b",)}


def test_nested_fields_have_ids_of_their_own(columns: Columns) -> None:
    inner = t.StructDataType((t.StructField("x", "byte"), t.StructField("y", t.ListDataType("char(3)"))))
    before = columns.seen("a", t.TableColumn("s", inner), t.TableColumn("m", t.MapDataType("string", inner)))
    assert len(set(before.values())) == len(before) == 11
    swapped = t.StructDataType((inner.fields[1], inner.fields[0], t.StructField("z", "date")))
    after = columns.seen(t.TableColumn("m", t.MapDataType("string", inner)), t.TableColumn("s", swapped), "a")
    assert {name: id for name, id in after.items() if name != "s.z"} == before


def test_two_servers_that_see_a_table_change_give_the_same_ids(columns: Columns, store: Store) -> None:
    columns.seen("a")
    other = Claims(store, "a metastore", None)
    ids = columns.seen("a", "b")
    listed = (t.TableColumn("a", "string"), t.TableColumn("c", "string"), t.TableColumn("b", "string"))
    document = other.own_columns(columns.table, "1", "s3://theirs/t", listed)
    again = {field["name"]: field["id"] for field in document.metadata["schemas"][0]["fields"]}
    assert again == {**ids, "c": 3}
    assert columns.seen("a", "c", "b") == again


def test_the_folder_of_one_table_is_not_given_to_the_next(columns: Columns, store: Store) -> None:
    columns.seen("a")
    with store.write("test", "prepare") as tx:
        other = objects.create(tx, columns.schema, columns.schema, ObjectType.TABLE, "u")
    for place in ("s3://theirs/t", "s3a://theirs/t/x=1", "s3://theirs"):
        with pytest.raises(Forbidden, match="belongs to something else"):
            columns.claims.own_columns(other, "1", place, (t.TableColumn("a", "string"),))
    assert columns.claims.own_columns(other, "1", "s3://theirs/t2", (t.TableColumn("a", "string"),))


def test_a_table_in_the_servers_own_warehouse_is_refused(store: Store, tmp_path: Path) -> None:
    columns = Columns(store)
    claims = Claims(store, "a metastore", str(tmp_path))
    for place in (f"{tmp_path}/x", f"file://{tmp_path}", "s3://theirs/_headgate/x"):
        with pytest.raises(Forbidden):
            claims.own_columns(columns.table, "1", place, (t.TableColumn("a", "string"),))
        with pytest.raises(Forbidden):
            claims.check_file(columns.table, f"{place}/m.json")
