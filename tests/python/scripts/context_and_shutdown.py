import os

done = []


def init():
    pass


def run(mini_batch, mini_batch_context):
    done.append(mini_batch_context.minibatch_index)
    return [str(mini_batch_context.minibatch_index) for _ in mini_batch]


def shutdown():
    with open(os.environ["MARKER"], "a") as marker:
        marker.write("".join(f"{n}\n" for n in done))
