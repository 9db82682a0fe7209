import datetime
import decimal


def run(mini_batch):
    row = {
        "text": "a, \"b\"\nc",
        "nan": float("nan"),
        "inf": float("-inf"),
        "none": None,
        "large": 2**70,
        "true": True,
        "tenth": 0.1,
        "decimal": decimal.Decimal("1.10"),
        "date": datetime.date(2026, 1, 2),
        "bytes": b"\x00\xff",
    }
    return [row for _ in mini_batch]
