import sys

import pandas as pd

how = sys.argv[1]
tried = set()


def run(frame, mini_batch_context):
    assert list(frame.index) == list(range(len(frame)))
    if how == "echo":
        return frame
    if how == "same":
        frame["score"] = frame["id"] * 10
        return frame
    if how == "fewer":
        return frame[frame["id"] % 3 != 0]
    if how == "more":
        return pd.concat([frame, frame])
    if how == "join":
        return frame.join(pd.DataFrame({"score": [float(n) for n in frame["id"]]}))
    if how == "mutate":
        first = "seen" not in frame.columns
        frame["seen"] = mini_batch_context.attempt
        if mini_batch_context.attempt == 1 or not first:
            raise RuntimeError("the first try fails, and leaves the frame changed")
        return frame
    if how == "series":
        return frame["id"]
    if how == "array":
        return frame["id"].to_numpy()
    if how == "values":
        return pd.DataFrame(
            {
                "na": pd.array([pd.NA] * len(frame), dtype="Int64"),
                "nat": pd.NaT,
                "nan": float("nan"),
                "f32": pd.array([0.5] * len(frame), dtype="float32"),
                "i64": pd.array([7] * len(frame), dtype="int64"),
                "bool": [True] * len(frame),
                "time": pd.Timestamp("2026-01-02T03:04:05+01:00"),
                "category": pd.Categorical(["x"] * len(frame)),
            }
        )
    if how == "partition":
        frame["key"] = mini_batch_context.partition_key_value["name"]
        return frame
    raise ValueError(how)
