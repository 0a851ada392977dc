"""TPC-C's consistency conditions 1 to 4 (clause 3.3.2.1 - 3.3.2.4).

They hold after loading and after every run; a violation means that the driver, the server or the
disk lost or doubled something.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymysql.connections import Connection

#: Violations of one condition that are reported one by one.
REPORTED = 10


@dataclass(frozen=True)
class Violation:
    """One place where a condition does not hold; `condition` is 1 to 4."""

    condition: int
    warehouse: int
    district: int | None
    detail: str

    def __str__(self) -> str:
        where = f"warehouse {self.warehouse}"
        if self.district is not None:
            where += f" district {self.district}"
        return f"TPC-C 3.3.2.{self.condition}, {where}: {self.detail}"


# Each statement returns (warehouse, district, what was compared, left, right) for the breaches.
# A district from which every order was delivered has no new_orders: 2 then compares orders alone
# and 3 of nothing. <=> also finds what is missing altogether.
_STATEMENTS: Mapping[int, str] = MappingProxyType(
    {
        1: """
            SELECT w_id, NULL, 'w_ytd and sum(d_ytd)', w_ytd, d.ytd
            FROM tpcc.warehouse
            LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM tpcc.district GROUP BY d_w_id) d
                ON d.d_w_id = w_id
            WHERE NOT w_ytd <=> d.ytd LIMIT %s""",
        2: """
            SELECT d_w_id, d_id, 'd_next_o_id - 1 and max(o_id), max(no_o_id)', d_next_o_id - 1,
                CONCAT_WS(', ', COALESCE(o.last, 'none'), COALESCE(n.last, 'none'))
            FROM tpcc.district
            LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last
                       FROM tpcc.orders GROUP BY o_w_id, o_d_id) o
                ON o.o_w_id = d_w_id AND o.o_d_id = d_id
            LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last
                       FROM tpcc.new_orders GROUP BY no_w_id, no_d_id) n
                ON n.no_w_id = d_w_id AND n.no_d_id = d_id
            WHERE NOT d_next_o_id - 1 <=> o.last
               OR (n.last IS NOT NULL AND NOT d_next_o_id - 1 <=> n.last) LIMIT %s""",
        3: """
            SELECT no_w_id, no_d_id, 'max(no_o_id) - min(no_o_id) + 1 and count(new_orders)',
                MAX(no_o_id) - MIN(no_o_id) + 1, COUNT(*)
            FROM tpcc.new_orders
            GROUP BY no_w_id, no_d_id
            HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) LIMIT %s""",
        4: """
            SELECT o.o_w_id, o.o_d_id, 'sum(o_ol_cnt) and count(order_line)', o.expected, l.found
            FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS expected
                  FROM tpcc.orders GROUP BY o_w_id, o_d_id) o
            LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found
                       FROM tpcc.order_line GROUP BY ol_w_id, ol_d_id) l
                ON l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id
            WHERE NOT o.expected <=> l.found LIMIT %s""",
    }
)


def check_consistency(connection: Connection[Any]) -> list[Violation]:
    """The violations found, at most ten of each condition; an empty list is a clean bill.

    Needs no default database; reads the whole of orders, new_orders and order_line.
    """
    violations = []
    with connection.cursor() as cursor:
        for condition, statement in _STATEMENTS.items():
            cursor.execute(statement, (REPORTED,))
            for warehouse, district, compared, left, right in cursor.fetchall():
                detail = f"{compared} differ: {left} and {right}"
                violations.append(Violation(condition, warehouse, district, detail))
    return violations
