"""Fit every member of the flagship to small tables once, and save its predictions.

    python benchmarks/small_tables.py /tmp/small --rows 100 250
    python benchmarks/small_tables.py /tmp/small --rows 1000 --sets yacht iris
    python benchmarks/small_tables.py /tmp/draws --rows 100 --fold-seed 1

Blends of the members can then be compared on these files without another fit. The sets,
their rows and their losses are those of ``develop.py``: models are fitted to ``--rows``
rows of each set's training part, at most two thirds of it, and predict up to
``HELD_OUT`` others, in ``--draws`` draws. A file is named by its set, the number of
training rows and the draw; existing files are kept, so that an interrupted script can
be continued. Use a folder outside the repository and one thread
(``OPENBLAS_NUM_THREADS=1``).

Each file contains the following arrays. m members (``names``, ``slopes``, processor
``seconds``) are fitted to n rows, in the order of the fit, and predict N; k is 1 or the
number of classes.

===================  ================================================================
X, Y, weights, ...   the table of the fit (:class:`adakern.adaptive.prepare.Table`)
position             index in this table of each training row as drawn
predicted            (m, n, k), predictions of the models of the folds
left_out             (m, n, k), the same, in closed form if there is one
whole                (m, n, k), in closed form, with scales of all rows; else NaN
X_held, y_held       the held-out rows
held                 (m, N, k), predictions as in the flagship
held_folds           (m, N, k), means over the models of the folds
flagship             (N,) or (N, k), predictions of the current flagship
flagship_weights     (m,)
blend_left_out       (5, n, k), the members of the simple blend, rows as drawn
blend_held           (5, N, k)
blend                (N,) or (N, k), predictions of the simple blend
blend_weights        (5,)
took                 processor seconds of fit and predictions, of the flagship and of
                     the simple blend
===================  ================================================================
"""

import argparse
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn.preprocessing import StandardScaler

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive import fit_all
from adakern.adaptive.choose import choose
from adakern.adaptive.prepare import prepare
from adakern.baselines import SimpleBlendClassifier, SimpleBlendRegressor
from adakern_bench.data.fetch import load_table
from develop import ROOT, entries

HELD_OUT = 1000


def training_part(table):
    """Rows of the training part, and standardised targets or labels of all rows."""
    rows, y = np.arange(len(table.y)), table.y
    if table.published_splits is not None:
        rows = np.flatnonzero(~np.asarray(table.published_splits[0]))
    if table.task != "classification":
        y = (y - np.mean(y[rows])) / np.std(y[rows])
    return rows, y


def drawn(X, y, rows, n_rows, seed):
    """Training rows and rows to predict, as ``develop.py`` draws them."""
    order = np.random.default_rng(seed).permutation(rows)
    train, held_out = np.split(order, [n_rows])
    held_out = held_out[:HELD_OUT]
    scaler = StandardScaler().fit(X[train])
    return (
        scaler.transform(X[train]),
        y[train],
        scaler.transform(X[held_out]),
        y[held_out],
    )


def timed(function, *args):
    """Return the result of a function, and its processor seconds."""
    started = time.process_time()
    found = function(*args)
    return found, time.process_time() - started


def kept(classify, X, y, X_held, y_held, fold_seed):
    """Arrays of one file."""
    make = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
    answer = "predict_proba" if classify else "predict"
    model, fit_took = timed(make(random_state=fold_seed).fit, X, y)
    flagship, predict_took = timed(getattr(model, answer), X_held)
    problem, members = fitted(make(random_state=fold_seed), X, y)
    table = problem.table
    read = problem.reader.transform(X_held)
    views = [(m, m.view.transform(read)) for m in members]
    blend = SimpleBlendClassifier if classify else SimpleBlendRegressor
    blend, blend_fit_took = timed(blend(random_state=0).fit, X, y)
    proba, blend_predict_took = timed(getattr(blend, answer), X_held)
    arrays = {k: v for k, v in vars(table.left_out).items() if v is not None} | {
        "classify": classify,
        "classes": model.classes_ if classify else np.empty(0),
        "position": problem.position,
        "unit": 1.0 if classify else model.ensemble_.blend.unit,
        "ungrouped": problem.ungrouped,
        "names": [m.name for m in members],
        "slopes": [m.slope for m in members],
        "seconds": [m.seconds for m in members],
        "predicted": [m.fits.predicted for m in members],
        "left_out": [m.fits.left_out for m in members],
        "whole": [in_closed_form(m, table) for m in members],
        "X_held": read,
        "y_held": y_held,
        "held": [m.predict(Z) for m, Z in views],
        "held_folds": [
            np.mean([m.predict(Z, fold) for fold in range(len(m.fits.models))], axis=0)
            for m, Z in views
        ],
        "flagship": flagship,
        "flagship_weights": [model.weights_.get(m.name, 0.0) for m in members],
        "blend": proba,
        "blend_weights": list(blend.weights_.values()),
        "took": [fit_took, predict_took, blend_fit_took, blend_predict_took],
    }
    for m in members:
        if m.fits.whole is not None and m.fits.whole.predict_left_out:
            ((_, found),) = m.fits.whole.searches
            arrays[f"scales {m.name}"], arrays[f"ridge {m.name}"] = found
    return arrays | of_simple_blend(blend, X_held)


def fitted(model, X, y):
    """Return the prepared problem of a model, and all its members, fitted in folds."""
    rng = np.random.RandomState(model.random_state)
    problem = prepare(model, X, y, rng=rng)
    members = choose(model.members, problem.shape, problem.setting, rng)
    return problem, fit_all.fit_all(problem, members, fit_all.Limits(), rng)[0]


def in_closed_form(member, table):
    """Leave-one-out predictions of a member with scales and ridge of all rows."""
    whole, nothing = member.fits.whole, np.full(table.Y.shape, np.nan)
    if whole is not None and whole.predict_left_out:
        X = member.view.transform(table.X)
        try:
            values = whole.predict_left_out(X, table.Y, table.weights)
        except np.linalg.LinAlgError:  # the ridge is too small
            return nothing
        return np.clip(values, *member.bounds)
    return nothing


def of_simple_blend(blend, X_held):
    """Predictions of the blend's members, out of sample and for held-out rows."""
    left_out, held, Z = [], [], blend._scaler.transform(X_held)
    for member in blend.members_.values():
        names = [blend._leave_one_out, blend._out_of_bag]
        values = next(getattr(member, name) for name in names if hasattr(member, name))
        left_out.append(blend._complete(member, values))
        answer = getattr(member, "predict_proba", member.predict)
        held.append(blend._complete(member, answer(Z)))
    return {"blend_left_out": left_out, "blend_held": held}


def small(values):
    """Convert predictions of members to single precision."""
    values = np.asarray(values)
    return values.astype(np.float32) if values.ndim == 3 else values


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 250])
    parser.add_argument("--sets", nargs="+", default=[""], help="parts of names")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--fold-seed", type=int, default=0, help="seed of the folds")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    # Time members in processor seconds, since other programs may be running.
    fit_all.time = SimpleNamespace(perf_counter=time.process_time)
    args.folder.mkdir(parents=True, exist_ok=True)
    for most_rows in args.rows:
        for name, entry in entries():
            if not any(part in name for part in args.sets):
                continue
            table = load_table(name, entry, cache_dir=ROOT / "data" / "raw")
            rows, y = training_part(table)
            n_rows = min(most_rows, 2 * len(rows) // 3)
            for seed in range(args.draws):
                path = args.folder / f"{name}.{n_rows}.{seed}.npz"
                if path.exists():
                    continue
                parts = drawn(table.X, y, rows, n_rows, seed)
                arrays = kept(table.task == "classification", *parts, args.fold_seed)
                arrays = {key: small(values) for key, values in arrays.items()}
                partial = path.with_suffix(".part")
                with partial.open("wb") as file:
                    np.savez_compressed(file, **arrays)
                partial.rename(path)
                print(path.stem, *np.round(arrays["took"], 2), flush=True)


if __name__ == "__main__":
    main()
