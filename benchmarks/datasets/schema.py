"""The TPC-C schema as tpcc-mysql's programs expect it, fact by fact as at its commit 1ec1c5e.

Tables, column order, types, keys, index names and foreign keys are the same; tpcc_start and our
sysbench workload both run on it. Storage engine aside, everything not said here (character set,
row format) is the server's default, as it is with tpcc-mysql.
"""

from __future__ import annotations

from dataclasses import dataclass

_ADDRESS = """
    {0}_street_1 VARCHAR(20),
    {0}_street_2 VARCHAR(20),
    {0}_city VARCHAR(20),
    {0}_state CHAR(2),
    {0}_zip CHAR(9)"""


@dataclass(frozen=True)
class Table:
    """One table: its columns and primary key first, then what is added once the rows are in."""

    name: str
    columns: str
    primary_key: str | None
    indexes: tuple[str, ...] = ()
    foreign_keys: tuple[str, ...] = ()

    def create(self) -> str:
        """The statement that makes the table without secondary indexes and foreign keys."""
        key = f",\n    PRIMARY KEY ({self.primary_key})" if self.primary_key else ""
        return f"CREATE TABLE {self.name} ({self.columns}{key}\n) ENGINE=InnoDB"

    def add_indexes(self) -> str:
        """The statement that builds all secondary indexes in one pass over the rows."""
        return self._add(self.indexes)

    def add_foreign_keys(self) -> str:
        """The statement that adds the foreign keys, for which indexes exist by then."""
        return self._add(self.foreign_keys)

    def _add(self, clauses: tuple[str, ...]) -> str:
        return f"ALTER TABLE {self.name} " + ", ".join(f"ADD {clause}" for clause in clauses)


def _foreign_key(name: str, columns: str, parent: str, parent_columns: str) -> str:
    return f"CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {parent} ({parent_columns})"


#: In an order in which every table comes after those it refers to.
TABLES: tuple[Table, ...] = (
    Table(
        "item",
        """
    i_id INT NOT NULL,
    i_im_id INT,
    i_name VARCHAR(24),
    i_price DECIMAL(5,2),
    i_data VARCHAR(50)""",
        "i_id",
    ),
    Table(
        "warehouse",
        f"""
    w_id SMALLINT NOT NULL,
    w_name VARCHAR(10),{_ADDRESS.format("w")},
    w_tax DECIMAL(4,2),
    w_ytd DECIMAL(12,2)""",
        "w_id",
    ),
    Table(
        "district",
        f"""
    d_id TINYINT NOT NULL,
    d_w_id SMALLINT NOT NULL,
    d_name VARCHAR(10),{_ADDRESS.format("d")},
    d_tax DECIMAL(4,2),
    d_ytd DECIMAL(12,2),
    d_next_o_id INT""",
        "d_w_id, d_id",
        foreign_keys=(_foreign_key("fkey_district_1", "d_w_id", "warehouse", "w_id"),),
    ),
    Table(
        "customer",
        f"""
    c_id INT NOT NULL,
    c_d_id TINYINT NOT NULL,
    c_w_id SMALLINT NOT NULL,
    c_first VARCHAR(16),
    c_middle CHAR(2),
    c_last VARCHAR(16),{_ADDRESS.format("c")},
    c_phone CHAR(16),
    c_since DATETIME,
    c_credit CHAR(2),
    c_credit_lim BIGINT,
    c_discount DECIMAL(4,2),
    c_balance DECIMAL(12,2),
    c_ytd_payment DECIMAL(12,2),
    c_payment_cnt SMALLINT,
    c_delivery_cnt SMALLINT,
    c_data TEXT""",
        "c_w_id, c_d_id, c_id",
        indexes=("INDEX idx_customer (c_w_id, c_d_id, c_last, c_first)",),
        foreign_keys=(
            _foreign_key("fkey_customer_1", "c_w_id, c_d_id", "district", "d_w_id, d_id"),
        ),
    ),
    Table(
        "history",
        """
    h_c_id INT,
    h_c_d_id TINYINT,
    h_c_w_id SMALLINT,
    h_d_id TINYINT,
    h_w_id SMALLINT,
    h_date DATETIME,
    h_amount DECIMAL(6,2),
    h_data VARCHAR(24)""",
        None,
        # tpcc-mysql leaves both to the server, which then names them after the foreign keys.
        indexes=(
            "INDEX fkey_history_1 (h_c_w_id, h_c_d_id, h_c_id)",
            "INDEX fkey_history_2 (h_w_id, h_d_id)",
        ),
        foreign_keys=(
            _foreign_key(
                "fkey_history_1", "h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id"
            ),
            _foreign_key("fkey_history_2", "h_w_id, h_d_id", "district", "d_w_id, d_id"),
        ),
    ),
    Table(
        "orders",
        """
    o_id INT NOT NULL,
    o_d_id TINYINT NOT NULL,
    o_w_id SMALLINT NOT NULL,
    o_c_id INT,
    o_entry_d DATETIME,
    o_carrier_id TINYINT,
    o_ol_cnt TINYINT,
    o_all_local TINYINT""",
        "o_w_id, o_d_id, o_id",
        indexes=("INDEX idx_orders (o_w_id, o_d_id, o_c_id, o_id)",),
        foreign_keys=(
            _foreign_key(
                "fkey_orders_1", "o_w_id, o_d_id, o_c_id", "customer", "c_w_id, c_d_id, c_id"
            ),
        ),
    ),
    Table(
        "new_orders",
        """
    no_o_id INT NOT NULL,
    no_d_id TINYINT NOT NULL,
    no_w_id SMALLINT NOT NULL""",
        "no_w_id, no_d_id, no_o_id",
        foreign_keys=(
            _foreign_key(
                "fkey_new_orders_1", "no_w_id, no_d_id, no_o_id", "orders", "o_w_id, o_d_id, o_id"
            ),
        ),
    ),
    Table(
        "stock",
        """
    s_i_id INT NOT NULL,
    s_w_id SMALLINT NOT NULL,
    s_quantity SMALLINT,"""
        + "".join(f"\n    s_dist_{district:02} CHAR(24)," for district in range(1, 11))
        + """
    s_ytd DECIMAL(8,0),
    s_order_cnt SMALLINT,
    s_remote_cnt SMALLINT,
    s_data VARCHAR(50)""",
        "s_w_id, s_i_id",
        indexes=("INDEX fkey_stock_2 (s_i_id)",),
        foreign_keys=(
            _foreign_key("fkey_stock_1", "s_w_id", "warehouse", "w_id"),
            _foreign_key("fkey_stock_2", "s_i_id", "item", "i_id"),
        ),
    ),
    Table(
        "order_line",
        """
    ol_o_id INT NOT NULL,
    ol_d_id TINYINT NOT NULL,
    ol_w_id SMALLINT NOT NULL,
    ol_number TINYINT NOT NULL,
    ol_i_id INT,
    ol_supply_w_id SMALLINT,
    ol_delivery_d DATETIME,
    ol_quantity TINYINT,
    ol_amount DECIMAL(6,2),
    ol_dist_info CHAR(24)""",
        "ol_w_id, ol_d_id, ol_o_id, ol_number",
        indexes=("INDEX fkey_order_line_2 (ol_supply_w_id, ol_i_id)",),
        foreign_keys=(
            _foreign_key(
                "fkey_order_line_1", "ol_w_id, ol_d_id, ol_o_id", "orders", "o_w_id, o_d_id, o_id"
            ),
            _foreign_key(
                "fkey_order_line_2", "ol_supply_w_id, ol_i_id", "stock", "s_w_id, s_i_id"
            ),
        ),
    ),
)
