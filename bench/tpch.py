"""TPC-H's eight tables, generated here: the same rows every time for a scale, written as Parquet.

Keys, ranges, dates and prices follow the public specification, so that its 22 queries select what they should; texts are
made of words of our own. Orders and their lines come in chunks with a seed each: memory does not grow with the scale.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Numbers = np.ndarray[Any, np.dtype[np.int64]]

MONEY: Final = pa.decimal128(12, 2)
CHUNK: Final = 250_000
"""Orders that are in memory at a time."""
FIRST_DAY: Final = (dt.date(1992, 1, 1) - dt.date(1970, 1, 1)).days
LAST_ORDER: Final = (dt.date(1998, 8, 2) - dt.date(1970, 1, 1)).days
TODAY: Final = (dt.date(1995, 6, 17) - dt.date(1970, 1, 1)).days

REGIONS: Final = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS: Final = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
    ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
    ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
SEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES: Final = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES: Final = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
INSTRUCTIONS: Final = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
TYPES: Final = tuple(
    f"{a} {b} {c}"
    for a in ("ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD")
    for b in ("ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED")
    for c in ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN")
)
CONTAINERS: Final = tuple(
    f"{a} {b}"
    for a in ("JUMBO", "LG", "MED", "SM", "WRAP")
    for b in ("BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG")
)
COLOURS: Final = (
    "almond antique azure beige black blue brown chocolate coral cream cyan forest frosted ghost gold green grey honeydew "
    "indian ivory khaki lace lavender lemon lime linen magenta maroon metallic mint misty navy olive orange orchid pale "
    "peach pink plum powder puff purple red rose royal saddle salmon sandy sienna sky slate snow spring steel tan thistle "
    "tomato turquoise violet wheat white yellow"
)
_WORDS: Final = (
    "above again along around before beneath between beyond brisk calm careful clear close daily dark deep early even fair "
    "final firm gentle idle keen late light long loud near odd open pending plain quick quiet rapid regular sharp slow "
    "special steady still sudden swift true unusual warm wide accounts bears boats bridges clouds courts deposits dolphins "
    "excuses fields foxes grain hills ideas lakes letters maps orders packages parcels pearls pines plans platelets ports "
    "requests rivers sails seeds sheep stones theories towers trains waves winds wolves agree believe boost call carry "
    "count detect drift eat find gather grow hold integrate kindle lift move nod pass play print run sing sleep snooze "
    "travel use wait wake walk watch wonder write"
)


def generate(scale: float, folder: Path) -> dict[str, Path]:
    """Write all tables; answers the folder with the Parquet files of each."""
    found = {}
    for name, parts in _tables(_Sizes(scale)).items():
        found[name] = folder / name
        found[name].mkdir(parents=True)
        for number, part in enumerate(parts):
            pq.write_table(part, found[name] / f"{number:05}.parquet")
    for name in ("orders", "lineitem"):
        found[name] = folder / name
        found[name].mkdir(parents=True)
    for number, (orders, lines) in enumerate(orders_and_lines(scale)):
        pq.write_table(orders, found["orders"] / f"{number:05}.parquet")
        pq.write_table(lines, found["lineitem"] / f"{number:05}.parquet")
    return found


def orders_and_lines(
    scale: float, *, first: int = 0, count: int | None = None
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Orders with their lines, chunk by chunk; beyond the table's own `count` they continue it."""
    sizes = _Sizes(scale)
    end = first + (sizes.orders if count is None else count)
    for start in range(first, end, CHUNK):
        yield _orders(sizes, start, min(CHUNK, end - start))


class _Sizes:
    def __init__(self, scale: float) -> None:
        self.suppliers = max(10, round(10_000 * scale))
        self.parts = max(100, round(200_000 * scale))
        self.customers = max(100, round(150_000 * scale))
        self.orders = max(1_000, round(1_500_000 * scale))

    def supplier_of(self, part: Numbers, which: Numbers) -> Numbers:
        """One of the four suppliers of a part: line items and partsupp agree by this alone."""
        s = self.suppliers
        return (part + which * (s // 4 + (part - 1) // s)) % s + 1


def _tables(sizes: _Sizes) -> dict[str, list[pa.Table]]:
    return {
        "region": [_region()],
        "nation": [_nation()],
        "supplier": [_supplier(sizes)],
        "customer": [_customer(sizes)],
        "part": [_part(sizes)],
        "partsupp": [_partsupp(sizes)],
    }


def _region() -> pa.Table:
    chance = np.random.default_rng(1)
    n = len(REGIONS)
    return pa.table(
        {"r_regionkey": _ints(np.arange(n)), "r_name": list(REGIONS), "r_comment": _text(chance, n, 8)}
    )


def _nation() -> pa.Table:
    chance = np.random.default_rng(2)
    n = len(NATIONS)
    return pa.table(
        {
            "n_nationkey": _ints(np.arange(n)),
            "n_name": [name for name, _ in NATIONS],
            "n_regionkey": _ints(np.array([region for _, region in NATIONS])),
            "n_comment": _text(chance, n, 8),
        }
    )


def _supplier(sizes: _Sizes) -> pa.Table:
    chance = np.random.default_rng(3)
    n = sizes.suppliers
    keys, nation = np.arange(1, n + 1), chance.integers(0, 25, n)
    comment = _text(chance, n, 7)
    # The specification has five in ten thousand complain and five recommend.
    mood = chance.permutation(n)
    few = max(1, n // 2_000)
    remark = np.full(n, "", dtype=object)
    remark[mood[:few]] = " Customer slow Complaints"
    remark[mood[few : 2 * few]] = " Customer fine Recommends"
    return pa.table(
        {
            "s_suppkey": keys,
            "s_name": _numbered("Supplier#", keys),
            "s_address": _text(chance, n, 3),
            "s_nationkey": _ints(nation),
            "s_phone": _phone(chance, nation),
            "s_acctbal": _money(chance.integers(-99_999, 1_000_000, n)),
            "s_comment": pc.binary_join_element_wise(comment, pa.array(remark, pa.string()), ""),
        }
    )


def _customer(sizes: _Sizes) -> pa.Table:
    chance = np.random.default_rng(4)
    n = sizes.customers
    keys, nation = np.arange(1, n + 1), chance.integers(0, 25, n)
    return pa.table(
        {
            "c_custkey": keys,
            "c_name": _numbered("Customer#", keys),
            "c_address": _text(chance, n, 3),
            "c_nationkey": _ints(nation),
            "c_phone": _phone(chance, nation),
            "c_acctbal": _money(chance.integers(-99_999, 1_000_000, n)),
            "c_mktsegment": _one_of(chance, SEGMENTS, n),
            "c_comment": _text(chance, n, 10),
        }
    )


def _part(sizes: _Sizes) -> pa.Table:
    chance = np.random.default_rng(5)
    n = sizes.parts
    keys, maker = np.arange(1, n + 1), chance.integers(1, 6, n)
    return pa.table(
        {
            "p_partkey": keys,
            "p_name": _words(chance, n, 5, COLOURS),
            "p_mfgr": _joined("Manufacturer#", maker),
            "p_brand": _joined("Brand#", maker * 10 + chance.integers(1, 6, n)),
            "p_type": _one_of(chance, TYPES, n),
            "p_size": _ints(chance.integers(1, 51, n)),
            "p_container": _one_of(chance, CONTAINERS, n),
            "p_retailprice": _money(_price(keys)),
            "p_comment": _text(chance, n, 2),
        }
    )


def _partsupp(sizes: _Sizes) -> pa.Table:
    chance = np.random.default_rng(6)
    part = np.repeat(np.arange(1, sizes.parts + 1), 4)
    n = len(part)
    return pa.table(
        {
            "ps_partkey": part,
            "ps_suppkey": sizes.supplier_of(part, np.tile(np.arange(4), sizes.parts)),
            "ps_availqty": _ints(chance.integers(1, 10_000, n)),
            "ps_supplycost": _money(chance.integers(100, 100_001, n)),
            "ps_comment": _text(chance, n, 18),
        }
    )


def _orders(sizes: _Sizes, start: int, n: int) -> tuple[pa.Table, pa.Table]:
    chance = np.random.default_rng((7, start))
    index = np.arange(start, start + n)
    # Eight keys of every thirty-two are used, and one customer in three never orders.
    key = index // 8 * 32 + index % 8 + 1
    customer = chance.integers(1, sizes.customers + 1, n)
    customer = np.where(customer % 3 == 0, np.maximum(customer - 1, 1), customer)
    day = chance.integers(FIRST_DAY, LAST_ORDER + 1, n)
    count = chance.integers(1, 8, n)
    lines, total, shipped = _lines(chance, sizes, key, day, count)
    status = np.where(shipped == count, "F", np.where(shipped == 0, "O", "P"))
    orders = pa.table(
        {
            "o_orderkey": key,
            "o_custkey": customer,
            "o_orderstatus": pa.array(status, pa.string()),
            "o_totalprice": _money(total),
            "o_orderdate": _days(day),
            "o_orderpriority": _one_of(chance, PRIORITIES, n),
            "o_clerk": _numbered("Clerk#", chance.integers(1, max(2, sizes.orders // 1_000), n)),
            "o_shippriority": _ints(np.zeros(n)),
            "o_comment": _text(chance, n, 7),
        }
    )
    return orders, lines


def _lines(
    chance: np.random.Generator, sizes: _Sizes, orders: Numbers, ordered: Numbers, count: Numbers
) -> tuple[pa.Table, Numbers, Numbers]:
    """The lines of orders; what each order costs, and how many of its lines are shipped."""
    of = np.repeat(np.arange(len(orders)), count)
    n = len(of)
    first = np.repeat(np.cumsum(count) - count, count)
    part = chance.integers(1, sizes.parts + 1, n)
    quantity = chance.integers(1, 51, n)
    price = quantity * _price(part)
    discount, tax = chance.integers(0, 11, n), chance.integers(0, 9, n)
    ship = ordered[of] + chance.integers(1, 122, n)
    receipt = ship + chance.integers(1, 31, n)
    returned = np.where(chance.random(n) < 0.5, "R", "A")
    lines = pa.table(
        {
            "l_orderkey": orders[of],
            "l_partkey": part,
            "l_suppkey": sizes.supplier_of(part, chance.integers(0, 4, n)),
            "l_linenumber": _ints(np.arange(n) - first + 1),
            "l_quantity": _money(quantity * 100),
            "l_extendedprice": _money(price),
            "l_discount": _money(discount),
            "l_tax": _money(tax),
            "l_returnflag": pa.array(np.where(receipt <= TODAY, returned, "N"), pa.string()),
            "l_linestatus": pa.array(np.where(ship > TODAY, "O", "F"), pa.string()),
            "l_shipdate": _days(ship),
            "l_commitdate": _days(ordered[of] + chance.integers(30, 91, n)),
            "l_receiptdate": _days(receipt),
            "l_shipinstruct": _one_of(chance, INSTRUCTIONS, n),
            "l_shipmode": _one_of(chance, MODES, n),
            "l_comment": _text(chance, n, 4),
        }
    )
    paid = price * (100 + tax) * (100 - discount) // 10_000
    total = np.bincount(of, weights=paid, minlength=len(orders)).astype(np.int64)
    shipped = np.bincount(of, weights=ship <= TODAY, minlength=len(orders)).astype(np.int64)
    return lines, total, shipped


# -- columns ------------------------------------------------------------------------------------------------------------


def _price(part: Numbers) -> Numbers:
    """What a part costs, in cents."""
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1_000)


def _ints(values: Any) -> pa.Array:
    return pa.array(np.asarray(values).astype(np.int32))


def _days(values: Numbers) -> pa.Array:
    return pa.array(values.astype(np.int32)).cast(pa.date32())


def _money(cents: Numbers) -> pa.Array:
    """Cents as decimals: 128 bits each, the upper half is the sign's."""
    wide = np.empty((len(cents), 2), dtype=np.int64)
    wide[:, 0], wide[:, 1] = cents, cents >> 63
    return pa.Array.from_buffers(MONEY, len(cents), [None, pa.py_buffer(wide)])


def _one_of(chance: np.random.Generator, values: Sequence[str], n: int) -> pa.Array:
    return pa.array(values).take(pa.array(chance.integers(0, len(values), n)))


def _words(chance: np.random.Generator, n: int, count: int, words: str) -> pa.Array:
    return pc.binary_join_element_wise(*(_one_of(chance, words.split(), n) for _ in range(count)), " ")


def _text(chance: np.random.Generator, n: int, count: int) -> pa.Array:
    return _words(chance, n, count, _WORDS)


def _numbered(prefix: str, keys: Numbers) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pc.utf8_lpad(pa.array(keys).cast(pa.string()), 9, "0"), "")


def _joined(prefix: str, values: Numbers) -> pa.Array:
    return pc.binary_join_element_wise(prefix, pa.array(values).cast(pa.string()), "")


def _phone(chance: np.random.Generator, nation: Numbers) -> pa.Array:
    parts = [
        nation + 10,
        *(chance.integers(low, high, len(nation)) for low, high in ((100, 1_000), (100, 1_000))),
    ]
    last = chance.integers(1_000, 10_000, len(nation))
    return pc.binary_join_element_wise(*(pa.array(p).cast(pa.string()) for p in (*parts, last)), "-")
