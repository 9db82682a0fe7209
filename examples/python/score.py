"""An entry script: reads handwritten digits, with scikit-learn if it is there, else in plain Python.

It is trained when a worker begins, on the images that the first argument names.
"""

import csv
import os
import sys


def init():
    global predict
    pixels, labels = [], []
    with open(sys.argv[1], newline="") as file:
        for row in csv.DictReader(file):
            if row["split"] == "train":
                labels.append(int(row["label"]))
                pixels.append([float(value) for name, value in row.items() if name not in ("split", "label")])
    predict = with_sklearn(pixels, labels) or by_mean(pixels, labels)


def run(mini_batch):
    images = [read(path) for path in mini_batch]
    names = [os.path.splitext(os.path.basename(path))[0] for path in mini_batch]
    return [{"image": name, "predicted": digit} for name, digit in zip(names, predict(images))]


def with_sklearn(pixels, labels):
    try:
        from sklearn.svm import SVC
    except ImportError:
        print("scikit-learn is not there: the nearest mean image decides")
        return None
    model = SVC(gamma=0.001).fit(pixels, labels)
    return lambda images: model.predict(images).tolist()


def by_mean(pixels, labels):
    """The digit whose mean image is nearest."""
    means = {}
    for digit in set(labels):
        own = [image for image, label in zip(pixels, labels) if label == digit]
        means[digit] = [sum(values) / len(own) for values in zip(*own)]

    def nearest(image):
        return min(means, key=lambda digit: sum((a - b) ** 2 for a, b in zip(image, means[digit])))

    return lambda images: [nearest(image) for image in images]


def read(path):
    with open(path) as file:
        return [float(value) for value in file.read().split()[4:]]
