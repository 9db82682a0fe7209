def init():
    pass


def score(mini_batch):
    return mini_batch
