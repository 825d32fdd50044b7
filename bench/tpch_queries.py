"""The 22 queries of TPC-H in Spark SQL, with the specification's validation parameters.

Where the specification leaves ties open, an order by key is added, so that every answer is one answer. Money is decimal and
stays so: answers are compared to the last digit.
"""

from typing import Final

QUERIES: Final[dict[str, str]] = {
    "q01": """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base_price,
               sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
               sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty,
               avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order
        FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAYS
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "q02": """
        SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
        FROM part JOIN partsupp ON ps_partkey = p_partkey JOIN supplier ON s_suppkey = ps_suppkey
             JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
        WHERE p_size = 15 AND p_type LIKE '%BRASS' AND r_name = 'EUROPE'
          AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey
                                    JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
                               WHERE ps_partkey = p_partkey AND r_name = 'EUROPE')
        ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100""",
    "q03": """
        SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
        WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10""",
    "q04": """
        SELECT o_orderpriority, count(*) AS order_count FROM orders
        WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
          AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY o_orderpriority ORDER BY o_orderpriority""",
    "q05": """
        SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
        FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
             JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
             JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey
        WHERE r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01'
        GROUP BY n_name ORDER BY revenue DESC, n_name""",
    "q06": """
        SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
          AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    "q07": """
        SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
        FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, year(l_shipdate) AS l_year,
                     l_extendedprice * (1 - l_discount) AS volume
              FROM supplier JOIN lineitem ON l_suppkey = s_suppkey JOIN orders ON o_orderkey = l_orderkey
                   JOIN customer ON c_custkey = o_custkey JOIN nation n1 ON n1.n_nationkey = s_nationkey
                   JOIN nation n2 ON n2.n_nationkey = c_nationkey
              WHERE (n1.n_name, n2.n_name) IN (('FRANCE', 'GERMANY'), ('GERMANY', 'FRANCE'))
                AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31')
        GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year""",
    "q08": """
        SELECT o_year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
        FROM (SELECT year(o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
              FROM part JOIN lineitem ON l_partkey = p_partkey JOIN supplier ON s_suppkey = l_suppkey
                   JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey
                   JOIN nation n1 ON n1.n_nationkey = c_nationkey JOIN region ON r_regionkey = n1.n_regionkey
                   JOIN nation n2 ON n2.n_nationkey = s_nationkey
              WHERE r_name = 'AMERICA' AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
                AND p_type = 'ECONOMY ANODIZED STEEL')
        GROUP BY o_year ORDER BY o_year""",
    "q09": """
        SELECT nation, o_year, sum(amount) AS sum_profit
        FROM (SELECT n_name AS nation, year(o_orderdate) AS o_year,
                     l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
              FROM part JOIN lineitem ON l_partkey = p_partkey JOIN supplier ON s_suppkey = l_suppkey
                   JOIN partsupp ON ps_suppkey = l_suppkey AND ps_partkey = l_partkey
                   JOIN orders ON o_orderkey = l_orderkey JOIN nation ON n_nationkey = s_nationkey
              WHERE p_name LIKE '%green%')
        GROUP BY nation, o_year ORDER BY nation, o_year DESC""",
    "q10": """
        SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone,
               c_comment
        FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
             JOIN nation ON n_nationkey = c_nationkey
        WHERE o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R'
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
        ORDER BY revenue DESC, c_custkey LIMIT 20""",
    "q11": """
        SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value
        FROM partsupp JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
        WHERE n_name = 'GERMANY' GROUP BY ps_partkey
        HAVING sum(ps_supplycost * ps_availqty) > (
               SELECT sum(ps_supplycost * ps_availqty) * 0.0001 FROM partsupp
                      JOIN supplier ON s_suppkey = ps_suppkey JOIN nation ON n_nationkey = s_nationkey
               WHERE n_name = 'GERMANY')
        ORDER BY value DESC, ps_partkey""",
    "q12": """
        SELECT l_shipmode, count_if(o_orderpriority IN ('1-URGENT', '2-HIGH')) AS high_line_count,
               count_if(o_orderpriority NOT IN ('1-URGENT', '2-HIGH')) AS low_line_count
        FROM orders JOIN lineitem ON l_orderkey = o_orderkey
        WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
          AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
        GROUP BY l_shipmode ORDER BY l_shipmode""",
    "q13": """
        SELECT c_count, count(*) AS custdist
        FROM (SELECT c_custkey, count(o_orderkey) AS c_count
              FROM customer LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%special%requests%'
              GROUP BY c_custkey)
        GROUP BY c_count ORDER BY custdist DESC, c_count DESC""",
    "q14": """
        SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
               / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
        FROM lineitem JOIN part ON p_partkey = l_partkey
        WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'""",
    "q15": """
        WITH revenue AS (
            SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue FROM lineitem
            WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey)
        SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
        FROM supplier JOIN revenue ON supplier_no = s_suppkey
        WHERE total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY s_suppkey""",
    "q16": """
        SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
        FROM partsupp JOIN part ON p_partkey = ps_partkey
        WHERE p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%'
          AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
          AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
        GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size""",
    "q17": """
        SELECT sum(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem JOIN part ON p_partkey = l_partkey
        WHERE p_brand = 'Brand#23' AND p_container = 'MED BOX'
          AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)""",
    "q18": """
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
        FROM customer JOIN orders ON o_custkey = c_custkey JOIN lineitem ON l_orderkey = o_orderkey
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
        ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100""",
    "q19": """
        SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem JOIN part ON p_partkey = l_partkey
        WHERE l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON' AND p_size >= 1
          AND ((p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
                AND l_quantity BETWEEN 1 AND 11 AND p_size <= 5)
            OR (p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
                AND l_quantity BETWEEN 10 AND 20 AND p_size <= 10)
            OR (p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
                AND l_quantity BETWEEN 20 AND 30 AND p_size <= 15))""",
    "q20": """
        SELECT s_name, s_address FROM supplier JOIN nation ON n_nationkey = s_nationkey
        WHERE n_name = 'CANADA'
          AND s_suppkey IN (
              SELECT ps_suppkey FROM partsupp
              WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
                AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem
                                   WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                                     AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'))
        ORDER BY s_name""",
    "q21": """
        SELECT s_name, count(*) AS numwait
        FROM supplier JOIN lineitem l1 ON l1.l_suppkey = s_suppkey JOIN orders ON o_orderkey = l1.l_orderkey
             JOIN nation ON n_nationkey = s_nationkey
        WHERE o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate AND n_name = 'SAUDI ARABIA'
          AND EXISTS (SELECT 1 FROM lineitem l2
                      WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
          AND NOT EXISTS (SELECT 1 FROM lineitem l3
                          WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey
                            AND l3.l_receiptdate > l3.l_commitdate)
        GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100""",
    "q22": """
        SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
        FROM (SELECT substring(c_phone, 1, 2) AS cntrycode, c_acctbal FROM customer
              WHERE substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
                AND c_acctbal > (SELECT avg(c_acctbal) FROM customer
                                 WHERE c_acctbal > 0.00
                                   AND substring(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17'))
                AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey))
        GROUP BY cntrycode ORDER BY cntrycode""",
}
