import os


def label(name, path):
    return f"{name} {os.path.basename(path)}"
