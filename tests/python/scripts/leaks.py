import os

kept = []
calls = 0


def run(mini_batch):
    global calls
    calls += 1
    kept.append(b"x" * (8 << 20))
    return [f"{os.getpid()} {calls}" for _ in mini_batch]


def shutdown():
    with open(os.environ["MARKER"], "a") as marker:
        marker.write(f"{calls}\n")
