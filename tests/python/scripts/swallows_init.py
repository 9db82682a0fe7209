def init():
    global model
    model = None
    try:
        raise OSError("no model")
    except OSError:
        pass


def run(mini_batch):
    return [model.predict(path) for path in mini_batch]
