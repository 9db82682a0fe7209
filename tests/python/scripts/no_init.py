MODEL = "loaded at import"


def initialize():
    raise RuntimeError("nobody calls this")


def run(minibatch, unused=None):
    return [(MODEL, unused) for _ in minibatch]
