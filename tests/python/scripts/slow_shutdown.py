import sys
import time


def run(mini_batch):
    return mini_batch


def shutdown():
    if sys.argv[1] == "raise":
        raise RuntimeError("could not flush")
    time.sleep(300)
