"""Trains the digits model: writes digits.csv and digits.onnx beside this file.

    pip install scikit-learn torch onnx
    python examples/digits/train.py        # about fifteen seconds on one core

A small convolutional network on half of the images; the other half is only looked at once, at the
end. Everything random comes from SEED and one thread computes, so the same versions of the
libraries write the same files.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from torch import nn

SEED = 2024
EPOCHS = 100
HERE = Path(__file__).parent


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    digits = load_digits()
    images, labels = digits.images.astype(np.float32), digits.target
    test = np.zeros(len(labels), dtype=bool)
    test[np.random.default_rng(SEED).permutation(len(labels))[len(labels) // 2 :]] = True

    write_csv(images, labels, test)
    net = train(images[~test], labels[~test])
    write_onnx(net)

    with torch.no_grad():
        predicted = net(torch.from_numpy(images[test])[:, None]).argmax(1).numpy()
    print(f"test accuracy: {(predicted == labels[test]).mean():.4f} of {test.sum()} images")


def write_csv(images, labels, test):
    """One row an image: its half, its label, then its 64 pixels (0 to 16) row by row."""
    rows = [",".join(["split", "label", *(f"p{i}" for i in range(64))])]
    for pixels, label, is_test in zip(images.reshape(-1, 64).astype(int), labels, test):
        rows.append(",".join(["test" if is_test else "train", str(label), *map(str, pixels)]))
    (HERE / "digits.csv").write_text("\n".join(rows) + "\n")


def train(images, labels):
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    batches = 15
    optimizer = torch.optim.Adam(net.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, EPOCHS * batches)
    rng = np.random.default_rng(SEED)
    for _ in range(EPOCHS):
        for batch in np.array_split(rng.permutation(len(labels)), batches):
            # Four random views a batch: few images, so the network must see each in many poses.
            seen = np.concatenate([view(images[part], rng) for part in np.array_split(batch, 4)])
            logits = net(torch.from_numpy(seen)[:, None])
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, torch.from_numpy(labels[batch])).backward()
            optimizer.step()
            schedule.step()
    return net.eval()


def view(images, rng):
    """The images turned by about 7 degrees and moved by about half a pixel, interpolated."""
    angle, dx, dy = rng.normal(0, 0.12), rng.normal(0, 0.5), rng.normal(0, 0.5)
    y, x = np.mgrid[0:8, 0:8] - 3.5
    from_x = np.cos(angle) * (x - dx) - np.sin(angle) * (y - dy) + 3.5
    from_y = np.sin(angle) * (x - dx) + np.cos(angle) * (y - dy) + 3.5
    left, top = np.floor(from_x).astype(int), np.floor(from_y).astype(int)
    right, below = from_x - left, from_y - top
    padded = np.pad(images, ((0, 0), (8, 8), (8, 8)))

    def at(row, column):
        return padded[:, np.clip(row + 8, 0, 23), np.clip(column + 8, 0, 23)]

    upper = at(top, left) * (1 - right) + at(top, left + 1) * right
    lower = at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right
    return (upper * (1 - below) + lower * below).astype(np.float32)


def write_onnx(net):
    """Plain operators and a free batch dimension, so that every ONNX runtime takes it."""
    conv1, conv2, dense1, dense2 = (m for m in net if isinstance(m, (nn.Conv2d, nn.Linear)))
    weights = [
        numpy_helper.from_array(getattr(layer, kind).detach().numpy(), f"{name}.{kind}")
        for name, layer in dict(conv1=conv1, conv2=conv2, dense1=dense1, dense2=dense2).items()
        for kind in ("weight", "bias")
    ]

    def node(operator, source, target, layer=None, **attributes):
        inputs = [source] + ([f"{layer}.weight", f"{layer}.bias"] if layer else [])
        return helper.make_node(operator, inputs, [target], **attributes)

    same = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    graph = helper.make_graph(
        [
            node("Conv", "pixels", "a", "conv1", **same),
            node("Relu", "a", "b"),
            node("Conv", "b", "c", "conv2", **same),
            node("Relu", "c", "d"),
            node("MaxPool", "d", "e", kernel_shape=[2, 2], strides=[2, 2]),
            node("Flatten", "e", "f", axis=1),
            node("Gemm", "f", "g", "dense1", transB=1),
            node("Relu", "g", "h"),
            node("Gemm", "h", "i", "dense2", transB=1),
            node("Softmax", "i", "probabilities", axis=1),
        ],
        "digits",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(HERE / "digits.onnx"))


if __name__ == "__main__":
    main()
