import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--threshold", type=float, required=True)
args = parser.parse_args()


def init():
    init.model = open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "model.txt")).read()


def run(mini_batch):
    return [{"file": os.path.basename(path), "model": init.model, "threshold": args.threshold} for path in mini_batch]
