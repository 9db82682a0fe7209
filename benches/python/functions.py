"""Runs empty functions in two processes, as others do; prints how many seconds that took.

    functions.py futures|loky noop|one|1mb TASKS

What is imported and started first is not counted, as it isn't for anybody.
"""

import sys
import time


def echo(value):
    return value


def executor(kind):
    if kind == "futures":
        from concurrent.futures import ProcessPoolExecutor

        return ProcessPoolExecutor(2)
    from loky import ProcessPoolExecutor

    return ProcessPoolExecutor(2)


def run(pool, shape, tasks):
    if shape == "one":
        for _ in range(tasks):
            pool.submit(echo, b"x" * 100).result()
    elif shape == "noop":
        assert sum(map(len, pool.map(echo, [b"x" * 100] * tasks, chunksize=1000))) == 100 * tasks
    else:
        values = (bytes(1 << 20) for _ in range(tasks))
        assert sum(map(len, pool.map(echo, values))) == tasks << 20


def main():
    kind, shape, tasks = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with executor(kind) as pool:
        list(pool.map(echo, range(2)))
        begun = time.perf_counter()
        run(pool, shape, tasks)
        print(time.perf_counter() - begun)


if __name__ == "__main__":
    main()
