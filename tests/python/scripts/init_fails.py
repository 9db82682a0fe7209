def init():
    raise FileNotFoundError("no such model: resnet.onnx")


def run(mini_batch):
    return mini_batch
