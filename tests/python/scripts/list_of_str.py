import os


def init():
    global model
    model = "model"


def run(mini_batch):
    print("scoring", mini_batch, "\U0001f600")
    return [f"{os.path.basename(path)}: {model}" for path in mini_batch]
