"""Fuzz model files: each altered file must be refused, or be harmless to load and use.

``python tools/fuzz_models.py --files 2000 --seed 0`` alters bytes, arrays and schemas
of several kinds of models, and loads each file and predicts with it in a separate
process. Faults are a signal, a hang, or more than twice the memory of an unaltered
file. If there are any, their seeds are printed and the exit status is 1.
"""

import argparse
import io
import json
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from copy import deepcopy
from importlib import import_module
from pathlib import Path

import numpy as np

#: Numbers that replace sizes, indices and parameters.
NUMBERS = (0, -1, 1, 2, 7, 255, 256, 2**15, 2**31 - 1, 2**31, 2**40, 2**63 - 1, 1e300)

#: Processor seconds after which a file counts as hanging (a second is usual), and
#: factor for the limit on wall-clock time, since the machine may be busy.
HANG, BUSY = 60, 30

#: Exit status of a child that refused a file, and of one whose model raised an error.
REFUSED, RAISED = 3, 4


def models():
    """Small models whose arrays are used by compiled code, by name."""
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
    )
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.svm import SVC, SVR

    from adakern import AdaptiveKernelRegressor, DANKClassifier

    categories = {"categorical_features": [1]}
    few = {"n_estimators": 3, "max_depth": 4, "random_state": 0}
    flagship = AdaptiveKernelRegressor(preset="fast", random_state=0)
    return {
        "flagship": flagship.set_params(members=["rbf", "boosting", "extra-trees"]),
        "forest": RandomForestClassifier(**few),
        "gradient boosting": GradientBoostingClassifier(**few),
        "boosting": HistGradientBoostingRegressor(max_iter=3, **categories),
        "boosting of classes": HistGradientBoostingClassifier(max_iter=3, **categories),
        "neighbours": KNeighborsRegressor(algorithm="kd_tree", leaf_size=5),
        "ball tree": KNeighborsRegressor(algorithm="ball_tree", leaf_size=5),
        "classes of neighbours": KNeighborsClassifier(
            algorithm="brute", metric="manhattan"
        ),
        "svc": SVC(),
        "svr": SVR(),
        "dank": DANKClassifier(),
    }


def rows():
    """Eighty rows of a number, a category coded as a number, and another number."""
    rng = np.random.default_rng(0)
    columns = [rng.uniform(size=80), rng.integers(0, 5, 80), rng.normal(size=80)]
    return np.column_stack(columns)


def write(name, path):
    """Fit the model of this name and write it to a file."""
    from sklearn.base import is_classifier
    from sklearn.pipeline import make_pipeline

    from adakern.model_file import save_model, versions

    model, X = models()[name], rows()
    y = 2 * X[:, 0] + (X[:, 1] == 2)
    y = np.digitize(y, [0.8, 1.6]) if is_classifier(model) else y
    card = {"target": "y", "kinds": {"a": "numeric"}, "forms": {}}
    card |= {"categories": {}, "versions": versions()}
    save_model(make_pipeline(model.fit(X, y)), path, card)


def altered(data, rng):
    """Return the bytes of an altered model file, and a description of the change."""
    kind = rng.choice(["bytes", "cut", "array", "header", "schema", "schema", "array"])
    if kind in ("bytes", "cut"):
        changed = bytearray(data)
        if kind == "cut":
            return bytes(changed[: rng.integers(len(changed))]), kind
        for place in rng.integers(len(changed), size=rng.integers(1, 9)):
            changed[place] = rng.integers(256)
        return bytes(changed), kind
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if kind == "schema":
        name = "schema.json"
        schema = json.loads(parts[name])
        kind += " " + alter_schema(schema, rng)
        parts[name] = json.dumps(schema).encode()
    else:
        name = rng.choice([name for name in parts if name.endswith(".npy")])
        alter = alter_array if kind == "array" else alter_header
        parts[name] = alter(parts[name], rng)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue(), kind


def alter_schema(schema, rng):
    """Alter one place of the schema; return a description."""
    places, left = [], [schema]
    while left:
        node = left.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            places.append((node, key, value))
            if isinstance(value, dict | list):
                left.append(value)
    node, key, value = places[rng.integers(len(places))]
    how = rng.choice(["number", "other", "gone", "text"])
    if how == "number":
        node[key] = str(NUMBERS[rng.integers(len(NUMBERS))])
    elif how == "other":
        node[key] = deepcopy(places[rng.integers(len(places))][2])
    elif how == "text":
        node[key] = "x" * int(rng.integers(1000))
    elif isinstance(node, dict):
        del node[key]
    else:
        node.clear()
    return f"{how} at {key}"


def alter_array(content, rng):
    """Replace numbers of an array, or of one of its fields, and maybe shorten it."""
    array = np.load(io.BytesIO(content), allow_pickle=False).copy()
    if not array.size:
        return content
    target = array
    if array.dtype.names:
        target = array[rng.choice(array.dtype.names)]
    flat = target.reshape(-1)
    places = rng.integers(len(flat), size=rng.integers(1, 4))
    value = NUMBERS[rng.integers(len(NUMBERS))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat[places] = np.array(value).astype(flat.dtype)
    if target.ndim and not array.dtype.names and rng.random() < 0.3:
        array = array[: rng.integers(len(array) + 1)]
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def alter_header(content, rng):
    """Replace a byte of an array's header, or its shape."""
    end = content.index(b"\n") + 1
    header = bytearray(content[:end])
    if rng.random() < 0.5:
        header[rng.integers(6, end)] = rng.integers(256)
        return bytes(header) + content[end:]
    shape = tuple(int(n) for n in rng.choice([0, 1, 3, 80, 2**20, 2**40], size=2))
    buffer = io.BytesIO()
    array = np.load(io.BytesIO(content), allow_pickle=False)
    told = {"shape": shape, "fortran_order": False, "descr": array.dtype.descr}
    if not array.dtype.names:
        told["descr"] = array.dtype.str
    np.lib.format.write_array_header_1_0(buffer, told)
    return buffer.getvalue() + content[end:]


def use(path):
    """Load a model and predict; return the exit status."""
    from adakern.model_file import ModelFileError, load_model

    try:
        model, _ = load_model(path)
    except ModelFileError:
        return REFUSED
    try:
        model.predict(rows())
    except Exception:
        return RAISED
    return 0


def in_child(function, *args, limit=HANG):
    """Return how a call in a separate process ended, and its peak memory."""
    child = os.fork()
    if not child:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            # At the soft limit the kernel sends SIGXCPU, which identifies a hang; with
            # equal limits it would send SIGKILL.
            resource.setrlimit(resource.RLIMIT_CPU, (limit, 2 * limit))
            warnings.simplefilter("ignore")
            status = function(*args) or 0
        finally:
            os._exit(status)
    started = time.monotonic()
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - started > BUSY * limit:
            os.kill(child, 9)
            _, status, used = os.wait4(child, 0)
            return "hang", used.ru_maxrss
        time.sleep(0.002)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return "hang", used.ru_maxrss
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}", used.ru_maxrss
    return os.WEXITSTATUS(status), used.ru_maxrss


def fuzz(n_files, seed, folder, say=print):
    """Return the faults among altered files, and the number of each outcome."""
    folder, faults, ends = Path(folder), [], {}
    for name in models():
        path = folder / f"{name}.skops"
        end, _ = in_child(write, name, path, limit=10 * HANG)
        if end != 0:
            raise RuntimeError(f"the model {name!r} cannot be written: {end}")
    whole = {path: in_child(use, path) for path in sorted(folder.glob("*.skops"))}
    if any(status != 0 for status, _ in whole.values()):
        raise RuntimeError(f"an unaltered file is refused: {whole}")
    paths, changed = list(whole), folder / "altered"
    for number in range(n_files):
        rng = np.random.default_rng([seed, number])
        path = paths[rng.integers(len(paths))]
        data, kind = altered(path.read_bytes(), rng)
        changed.write_bytes(data)
        end, memory = in_child(use, changed)
        if memory > 2 * whole[path][1]:
            end = f"{memory / 1e6:.1f} GB"
        ends[end] = ends.get(end, 0) + 1
        if end not in (0, REFUSED, RAISED):
            faults.append((number, path.stem, kind, end))
            say(f"seed {seed}, file {number}, {path.stem}, {kind}: {end}")
    return faults, ends


def main():
    """Alter the requested number of files; return 1 if there were faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # Import in the parent what all children need, without starting OpenMP threads.
    for name in ("pandas", "skops.io", "adakern.model_file"):
        import_module(name)
    models()
    # A file may request any amount of memory, which is limited here.
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    with tempfile.TemporaryDirectory() as folder:
        faults, ends = fuzz(arguments.files, arguments.seed, folder)
    words = {0: "predicted", REFUSED: "refused", RAISED: "raised an error in predict"}
    print({words.get(end, end): count for end, count in ends.items()})
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
