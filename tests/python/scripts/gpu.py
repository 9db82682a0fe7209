import os


def run(mini_batch):
    return [os.environ["CUDA_VISIBLE_DEVICES"] + "|" + EXTRA for _ in mini_batch]


EXTRA = os.environ["EXTRA"]
