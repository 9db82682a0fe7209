import sys


def run(mini_batch):
    kind = sys.argv[1]
    if kind == "none":
        return
    if kind == "str":
        return "a string"
    if kind == "dict":
        return {"a": 1}
    if kind == "set":
        return {1}
    if kind == "generator":
        return (path for path in mini_batch)
    if kind == "tuple":
        return tuple(mini_batch)
    return []
