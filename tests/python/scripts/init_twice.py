calls = []


def init():
    calls.append(1)


def run(mini_batch):
    return [len(calls)] * len(mini_batch)


init()
