"""The generated rows follow TPC-C clause 4.3.3.1, and the same seed gives the same bytes."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from benchmarks.datasets import tpcc
from benchmarks.datasets import tpcc_rows as rows
from benchmarks.datasets.text import (
    NULL,
    Bytes,
    alphanumeric,
    constant,
    digits,
    hundredths,
    join,
    with_word,
)

pytestmark = pytest.mark.long


def table(lines: Bytes) -> list[list[str]]:
    text = lines.tobytes().decode()
    assert text.endswith("\n")
    return [line.split("\t") for line in text.splitlines()]


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture(scope="module")
def customers() -> list[list[str]]:
    return table(rows.customer(3))


@pytest.fixture(scope="module")
def orders() -> list[list[str]]:
    return table(rows.orders(3))


@pytest.fixture(scope="module")
def order_lines() -> list[list[str]]:
    return table(rows.order_line(3))


def test_numbers_are_padded_and_decimals_have_two_places() -> None:
    assert join(digits(np.array([0, 7, 99999]), 5)).tobytes() == b"00000\n00007\n99999\n"
    assert join(hundredths(np.array([1, 12345]), 4)).tobytes() == b"0000.01\n0123.45\n"


def test_strings_of_random_length_are_cut_and_constants_repeated() -> None:
    words = np.frombuffer(b"a\0\0def", dtype=np.uint8).reshape(2, 3)
    lines = join(constant("x"), words, constant(NULL))
    assert lines.tobytes() == b"x\ta\t\\N\nx\tdef\t\\N\n"


def test_alphanumeric_strings_use_every_character_and_length_evenly() -> None:
    strings = [row[0] for row in table(join(alphanumeric(rng(), 20_000, 5, 9)))]
    lengths = Counter(map(len, strings))
    assert sorted(lengths) == [5, 6, 7, 8, 9]
    assert min(lengths.values()) > 0.9 * 4_000
    for place in (0, 1, 4):  # both halves of a pair, and the odd one
        letters = Counter(string[place] for string in strings)
        assert len(letters) == 62
        assert max(letters.values()) / min(letters.values()) < 1.6
        assert all(letter.isalnum() for letter in letters)


def test_a_word_is_put_whole_into_exactly_the_share_of_rows() -> None:
    column = with_word(rng(), 1_000, 8, 12, word="original", share=0.1)
    strings = [row[0] for row in table(join(column))]
    holders = [string for string in strings if "original" in string]
    assert len(holders) == 100
    assert {string.index("original") for string in holders} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("name", ["item", *rows.PER_WAREHOUSE])
def test_a_table_has_its_rows_each_time_the_same_ones(name: str) -> None:
    make = {"item": lambda _: rows.item(), **rows.PER_WAREHOUSE}[name]
    first = make(1).tobytes()
    assert make(1).tobytes() == first
    if name != "order_line":
        assert first.count(b"\n") == tpcc.expected_rows(1)[name]
    if name != "item":
        assert make(2).tobytes() != first


def test_random_parts_differ_between_warehouses() -> None:
    # Not only in the warehouse's number: a shared stream would make compressible, equal data.
    first, second = (table(rows.history(number)) for number in (1, 2))
    assert not all(one[-1] == other[-1] for one, other in zip(first, second, strict=True))


def test_items() -> None:
    items = table(rows.item())
    assert [int(row[0]) for row in items] == list(range(1, 100_001))
    assert {len(row) for row in items} == {5}
    assert all(1 <= int(row[1]) <= 10_000 for row in items)
    assert all(14 <= len(row[2]) <= 24 and 26 <= len(row[4]) <= 50 for row in items)
    prices = [float(row[3]) for row in items]
    assert min(prices) == 1.0
    assert max(prices) == 100.0
    assert sum("original" in row[4] for row in items) == 10_000


def test_warehouse_and_districts_agree_on_the_year_to_date() -> None:
    [warehouse] = table(rows.warehouse(12))
    districts = table(rows.district(12))
    assert warehouse[0] == "12"
    assert [(int(row[0]), row[1]) for row in districts] == [(n, "12") for n in range(1, 11)]
    assert float(warehouse[8]) == sum(float(row[9]) for row in districts)
    assert {row[10] for row in districts} == {"3001"}
    for row in [warehouse, *(row[1:] for row in districts)]:
        assert 6 <= len(row[1]) <= 10
        assert all(10 <= len(text) <= 20 for text in row[2:5])
        assert re.fullmatch(r"[0-9A-Za-z]{2}", row[5])
        assert re.fullmatch(r"\d{4}11111", row[6])
        assert 0 <= float(row[7]) <= 0.2


def test_stock() -> None:
    stock = table(rows.stock(3))
    assert [int(row[0]) for row in stock] == list(range(1, 100_001))
    assert {row[1] for row in stock} == {"3"}
    quantities = Counter(int(row[2]) for row in stock)
    assert sorted(quantities) == list(range(10, 101))
    assert {len(text) for row in stock for text in row[3:13]} == {24}
    assert {tuple(row[13:16]) for row in stock} == {("0", "0", "0")}
    assert sum("original" in row[16] for row in stock) == 10_000


def test_customers_have_names_that_any_run_finds(customers: list[list[str]]) -> None:
    assert len(customers) == 30_000
    everyone = set(rows.LAST_NAMES)
    assert len(everyone) == 1_000
    for district in range(10):
        part = customers[district * 3_000 : (district + 1) * 3_000]
        assert [(int(row[0]), int(row[1])) for row in part] == [
            (number, district + 1) for number in range(1, 3_001)
        ]
        assert {row[5] for row in part[:1_000]} == everyone
    # 371 -> PRI CALLY OUGHT is the standard's own example.
    assert customers[371][5] == "PRICALLYOUGHT"


def test_later_customers_names_are_skewed_as_nurand_says(customers: list[list[str]]) -> None:
    numbers = rows.nurand_255(np.random.default_rng(5), 200_000)
    assert numbers.min() == 0
    assert numbers.max() == 999
    # An OR of two numbers prefers those with many bits set: some come up tens of times as often.
    often = Counter(numbers.tolist())
    assert often.most_common(1)[0][1] > 20 * 200_000 / 1_000 / 4
    late = Counter(row[5] for row in customers if int(row[0]) > 1_000)
    assert late.most_common(1)[0][1] > 3 * 20_000 / 1_000


def test_customers_other_columns(customers: list[list[str]]) -> None:
    for district in range(10):
        part = customers[district * 3_000 : (district + 1) * 3_000]
        assert Counter(row[13] for row in part) == {"GC": 2_700, "BC": 300}
    assert {row[4] for row in customers} == {"OE"}
    assert {tuple(row[16:20]) for row in customers} == {("-10.00", "10.00", "1", "0")}
    assert all(8 <= len(row[3]) <= 16 and 300 <= len(row[20]) <= 500 for row in customers)
    assert all(re.fullmatch(r"\d{16}", row[11]) for row in customers)
    discounts = {row[15] for row in customers}
    assert len(discounts) == 51
    assert max(map(float, discounts)) == 0.5


def test_every_customer_has_one_payment_in_the_history() -> None:
    history = table(rows.history(3))
    assert [(int(row[1]), int(row[0])) for row in history] == [
        (district, number) for district in range(1, 11) for number in range(1, 3_001)
    ]
    assert {(row[2], row[4], row[6]) for row in history} == {("3", "3", "10.00")}
    assert all(row[1] == row[3] and 12 <= len(row[7]) <= 24 for row in history)


def test_each_customer_of_a_district_has_one_order(orders: list[list[str]]) -> None:
    permutations = set()
    for district in range(10):
        part = orders[district * 3_000 : (district + 1) * 3_000]
        assert [(int(row[0]), int(row[1])) for row in part] == [
            (number, district + 1) for number in range(1, 3_001)
        ]
        owners = [int(row[3]) for row in part]
        assert sorted(owners) == list(range(1, 3_001))
        permutations.add(tuple(owners))
        assert all(1 <= int(row[5]) <= 10 for row in part[:2_100])
        assert {row[5] for row in part[2_100:]} == {"\\N"}
    assert len(permutations) == 10
    counts = Counter(int(row[6]) for row in orders)
    assert sorted(counts) == list(range(5, 16))
    assert min(counts.values()) > 0.9 * 30_000 / 11
    assert {row[7] for row in orders} == {"1"}


def test_the_last_900_orders_of_a_district_are_new() -> None:
    new = table(rows.new_orders(3))
    assert [(int(row[1]), int(row[0])) for row in new] == [
        (district, number) for district in range(1, 11) for number in range(2_101, 3_001)
    ]


def test_order_lines_match_their_orders(
    orders: list[list[str]], order_lines: list[list[str]]
) -> None:
    expected = [
        (int(row[1]), int(row[0]), line) for row in orders for line in range(1, int(row[6]) + 1)
    ]
    assert [(int(row[1]), int(row[0]), int(row[3])) for row in order_lines] == expected
    delivered = [row for row in order_lines if int(row[0]) <= 2_100]
    waiting = [row for row in order_lines if int(row[0]) > 2_100]
    assert {(row[6], row[8]) for row in delivered} == {(rows.LOAD_TIME, "0000.00")}
    assert {row[6] for row in waiting} == {"\\N"}
    amounts = [float(row[8]) for row in waiting]
    assert 0 < min(amounts) < 1
    assert 9_990 < max(amounts) < 10_000
    assert {(row[2], row[5], row[7], len(row[9])) for row in order_lines} == {("3", "3", "5", 24)}
    items = [int(row[4]) for row in order_lines]
    assert min(items) >= 1
    assert max(items) <= 100_000
    assert len(set(items)) > 90_000


def test_large_warehouse_numbers_fit() -> None:
    lines = rows.order_line(32_767).tobytes().splitlines()
    assert lines[0].split(b"\t")[2] == lines[-1].split(b"\t")[5] == b"32767"
