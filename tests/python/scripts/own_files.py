import os
import uuid

from azureml_user.parallel_run import EntryScript

tried = set()


def init():
    EntryScript().logger.info("ready")


def run(mini_batch):
    output = EntryScript().output_dir
    assert output == os.environ["AZUREML_BI_OUTPUT_PATH"]
    for path in mini_batch:
        name = os.path.basename(path)
        with open(os.path.join(output, "shared.txt"), "a") as file:
            file.write(name + "\n")
        with open(os.path.join(output, f"{uuid.uuid4()}.one"), "w") as file:
            file.write(name)
    with open(os.path.join(output, "same_name.txt"), "w") as file:
        file.write("".join(os.path.basename(path) + "\n" for path in mini_batch))
    if mini_batch[0] not in tried:
        tried.add(mini_batch[0])
        raise RuntimeError("the first try of each worker fails, after it has written")
    return mini_batch
