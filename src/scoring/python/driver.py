"""Runs an entry script for batchyard: one process, one worker.

Standard input is a socket to the process that started this one; it is moved away before any code of the script's runs, so
that whatever the script prints, reads or passes on to its children, the conversation is ours alone. Both sides send frames:
two lengths (32 bits each, little-endian), a JSON object, and bytes. Needs nothing but the interpreter; pandas if the input
is a table.
"""

import sys

if sys.path and sys.path[0] == "":
    # The script's folder: its modules must not stand in for those that this file needs.
    del sys.path[0]

import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import io
import json
import os
import socket
import struct
import time
import traceback

ALLOWED = "a list, a tuple or a pandas DataFrame, with a row for each item"


class WrongResult(Exception):
    """`run` returned what is no rows. No other try will mend that."""


class Line:
    """The conversation with the process that started this one."""

    def __init__(self):
        self.socket = socket.socket(fileno=os.dup(0))
        self.reader = self.socket.makefile("rb")
        self.process = os.getpid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        # A child that the script forks must not hold the line: its end would not be seen.
        os.register_at_fork(after_in_child=self.socket.close)

    def hear(self):
        """The next frame; None when nobody is left to send one."""
        lengths = self.reader.read(8)
        if len(lengths) < 8:
            return None, b""
        text, body = struct.unpack("<II", lengths)
        return json.loads(self.reader.read(text)), self.reader.read(body)

    def say(self, message, body=b""):
        if os.getpid() != self.process:
            os._exit(0)  # a child that the script forked and let go on
        text = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<II", len(text), len(body)) + text)
        if body:
            self.socket.sendall(body)


class Script:
    """The entry script."""

    def __init__(self, path, args):
        self.path = path
        self.notes = []
        sys.argv = [path, *args]
        folder, name = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
        if name in getattr(sys, "stdlib_module_names", ()):
            # A script may be called like a module that others need. They get the one that they mean.
            importlib.import_module(name)
        sys.path.insert(0, folder)
        name = name if name not in sys.modules and name != "__main__" else "entry_script_" + name
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None:
            spec = importlib.machinery.ModuleSpec(name, importlib.machinery.SourceFileLoader(name, path), origin=path)
        self.module = importlib.util.module_from_spec(spec)
        self.module.__file__ = path
        sys.modules[name] = self.module
        spec.loader.exec_module(self.module)
        self.run = self.function("run", ["__run__", "score", "predict", "Run", "main"])
        if self.run is None:
            raise AttributeError(f"{path} has no function `run(mini_batch)`{self.hint}")
        self.takes_context = takes_context(self.run)

    def function(self, name, near):
        found = getattr(self.module, name, None)
        self.hint = ""
        if callable(found):
            return found
        similar = [n for n in near if inspect.isfunction(getattr(self.module, n, None))]
        self.hint = f"; there is `{similar[0]}`: was it meant?" if similar else ""
        return None

    def init(self):
        init = self.function("init", ["__init__", "Init", "initialize", "initialise", "setup", "load_model"])
        if init is None:
            self.notes.append(f"the script has no `init()`{self.hint}")
            return
        init()

    def shut_down(self):
        shutdown = self.function("shutdown", [])
        if shutdown is not None:
            shutdown()

    def call(self, batch, context):
        return self.run(batch, context) if self.takes_context else self.run(batch)

    def where(self):
        code = getattr(inspect.unwrap(self.run), "__code__", None)
        return f"{self.path}:{code.co_firstlineno}" if code else self.path


def takes_context(run):
    """Whether `run` has a second parameter that must be given, or is called like a context."""
    try:
        parameters = list(inspect.signature(run).parameters.values())
    except (TypeError, ValueError):
        return False
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(places) < 2:
        return False
    return places[1].default is inspect.Parameter.empty or "context" in places[1].name


class MiniBatchContext:
    """What `run` gets as its second argument, if it takes one."""

    def __init__(self, message):
        self.minibatch_index = message["index"]
        self.mini_batch_index = message["index"]
        self.attempt = message["attempt"]
        self.global_row_index_lower_bound = message.get("first_row")
        self.partition_key_value = dict(message["partition"]) or None
        self.dataset = None


class EntryScript:
    """The helper that scripts import from `azureml_user.parallel_run`, or from `entry_script`: there is one."""

    _only = None

    def __new__(cls):
        if cls._only is None:
            cls._only = super().__new__(cls)
            cls._only._make()
        return cls._only

    def _make(self):
        import logging

        self.agent_name = os.environ.get("BATCHYARD_WORKER", "0")
        self.output_dir = os.environ.get("AZUREML_BI_OUTPUT_PATH")
        self.log_dir = os.environ.get("BATCHYARD_LOGS", ".")
        self.working_dir = os.getcwd()
        folder = os.path.join(self.log_dir, "user", "entry_script_log", "0")
        os.makedirs(folder, exist_ok=True)
        self.logger = logging.getLogger("EntryScript")
        self.logger.setLevel(logging.DEBUG)
        handler = logging.FileHandler(os.path.join(folder, f"{self.agent_name}.log.txt"), encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s|%(levelname)s|%(process)d|%(message)s"))
        self.logger.addHandler(handler)
        self.logger.propagate = False

    @classmethod
    def get_instance(cls):
        return cls()


class Model:
    """As much of azureml.core.Model as scripts need to find their model."""

    @staticmethod
    def get_model_path(model_name=None, version=None, _workspace=None):
        root = os.environ.get("AZUREML_MODEL_DIR", ".")
        path = os.path.join(root, model_name or "")
        return path if model_name and os.path.exists(path) else root


class Run:
    """As much of azureml.core.Run as scripts need to run without a workspace."""

    id = "batchyard"
    input_datasets = {}
    output_datasets = {}
    parent = None

    @classmethod
    def get_context(cls, allow_offline=True):
        return cls()

    def __getattr__(self, name):
        if name.startswith("log") or name in ("tag", "flush", "set_tags"):
            return lambda *args, **kwargs: None
        raise AttributeError(f"there is no workspace here, so a Run has no `{name}`")


class Helpers(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that scripts import and that nobody else has: asked last, so that real ones come first."""

    modules = {
        "azureml_user": {},
        "azureml_user.parallel_run": {"EntryScript": EntryScript},
        "entry_script": {"EntryScript": EntryScript},
        "azureml": {},
        "azureml.core": {"Model": Model, "Run": Run},
        "azureml.core.model": {"Model": Model},
        "azureml.core.run": {"Run": Run},
    }

    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            is_package = any(other.startswith(name + ".") for other in self.modules)
            return importlib.machinery.ModuleSpec(name, self, is_package=is_package)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        vars(module).update(self.modules[module.__name__])


def load(message, body):
    """The mini-batch as the script gets it: a list of paths, or a frame with a fresh index."""
    if message["kind"] == "files":
        return [os.fsdecode(path) for path in body.split(b"\0")[:-1]]
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"tables need pandas, which {sys.executable} does not have: {error}") from None
    if message["kind"] == "json":
        return pandas.read_json(io.BytesIO(body), lines=True, convert_dates=False)
    header = 0 if message["header"] else None
    return pandas.read_csv(io.BytesIO(body), sep=message["delimiter"], header=header)


def is_frame(result):
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(result, pandas.DataFrame)


def check(result, script):
    if isinstance(result, (list, tuple)) or is_frame(result):
        return
    name = type(result).__name__
    if result is None:
        hint = "None: is there a path without `return`?"
    elif hasattr(result, "tolist"):
        hint = f"a {name}: use `.tolist()`"
    else:
        hint = f"a {name}"
    raise WrongResult(f"{script.where()}: `run` returned {hint}. It may return {ALLOWED}")


def encode(result, form):
    """The rows as they are to be written, and the names of their columns if they are a CSV."""
    if form is None:
        return None, b""
    if is_frame(result):
        return encode_frame(result, form)
    if form == "text":
        return None, "".join(f"{row}\n" for row in result).encode("utf-8", "backslashreplace")
    if form == "json":
        return None, lines(result)
    return encode_csv(result)


def encode_frame(frame, form):
    if form == "json":
        columns = [str(column) for column in frame.columns]
        return None, lines(dict(zip(columns, row)) for row in frame.itertuples(index=False, name=None))
    separator = " " if form == "text" else ","
    text = frame.to_csv(sep=separator, header=False, index=False, lineterminator="\n")
    return [str(column) for column in frame.columns], text.encode("utf-8", "backslashreplace")


def encode_csv(rows):
    import csv

    columns, out = None, io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for number, row in enumerate(rows):
        names, fields = fields_of(row)
        columns = columns or names
        if names != columns:
            raise WrongResult(f"row {number} has the columns {names}, and those before it {columns}")
        writer.writerow(fields)
    return columns, out.getvalue().encode("utf-8", "backslashreplace")


def fields_of(row):
    if hasattr(row, "tolist") and getattr(row, "ndim", 0) > 0:
        row = row.tolist()
    if isinstance(row, dict):
        return [str(key) for key in row], list(row.values())
    if isinstance(row, (list, tuple)):
        names = getattr(row, "_fields", None) or [f"result_{n}" for n in range(1, len(row) + 1)]
        return list(names), list(row)
    return ["result"], [row]


def lines(rows):
    text = []
    for number, row in enumerate(rows):
        try:
            text.append(json.dumps(plain(row), ensure_ascii=False, allow_nan=False))
        except TypeError as error:
            raise WrongResult(f"row {number} can't be written as JSON: {error}") from None
    return "".join(line + "\n" for line in text).encode("utf-8", "backslashreplace")


def plain(value, place=""):
    """A value as JSON has it. What is no number is null; times are ISO 8601, bytes base64, decimals text."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist"):
        return plain(value.tolist(), place)
    if isinstance(value, float):
        return float(value) if value - value == 0 else None
    if isinstance(value, dict):
        return {str(key): plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, f"{place}[{n}]") for n, item in enumerate(value)]
    if isinstance(value, (bytes, bytearray)):
        import base64

        return base64.b64encode(value).decode()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (str, int)):
        return value
    if type(value).__name__ in ("Decimal", "UUID", "Fraction") or hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"{'at ' + place + ' ' if place else ''}a {type(value).__name__}")


def told(error):
    """A traceback without the frames of this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()


def category(error):
    if isinstance(error, WrongResult):
        return "wrong"
    if isinstance(error, (SystemExit, KeyboardInterrupt)):
        return "exit"
    return "memory" if isinstance(error, MemoryError) else "exception"


def resident():
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def score(line, script, form, profile, message, body):
    batch = load(message, body)
    line.say({"is": "loaded"})
    begun, cpu = time.perf_counter(), time.process_time()
    if profile is not None:
        profile.enable()
    try:
        result = script.call(batch, MiniBatchContext(message))
    finally:
        if profile is not None:
            profile.disable()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    check(result, script)
    columns, rows = encode(result, form)
    answer = {"is": "rows", "rows": len(result), "columns": columns, "seconds": seconds, "cpu": cpu}
    line.say({**answer, "resident": resident()}, rows)


def begin(line, setup):
    script = Script(setup["script"], setup["args"])
    script.init()
    line.say({"is": "ready", "notes": script.notes})
    return script


def serve(line, script, setup):
    profile = None
    if setup["profile"]:
        import cProfile

        profile = cProfile.Profile()
    while True:
        message, body = line.hear()
        if message is None:
            return
        if message["do"] == "end":
            break
        try:
            score(line, script, setup["form"], profile, message, body)
        except BaseException as error:
            line.say({"is": "failed", "category": category(error), "error": told(error)})
    if profile is not None:
        profile.dump_stats(setup["profile"])
    script.shut_down()


def main():
    line = Line()
    setup, _ = line.hear()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    sys.meta_path.append(Helpers())
    try:
        script = begin(line, setup)
    except BaseException as error:
        line.say({"is": "failed", "category": category(error), "error": told(error)})
        return
    try:
        serve(line, script, setup)
        line.say({"is": "ended"})
    except BaseException as error:
        line.say({"is": "failed", "category": category(error), "error": told(error)})


main()
