"""Contribution of each member and constant of the blend on small tables.

    python benchmarks/small_tables.py /tmp/small --rows 100 250
    python benchmarks/leave_out.py /tmp/small --rows 100
    python benchmarks/leave_out.py /tmp/small --rows 100 --without svm rbf-ard

Blends the members saved by ``small_tables.py``: as the flagship does, then without each
member in turn (or without several), and with other constants of
``adakern.adaptive.blend``. The loss on the held-out rows (the log loss, or the root
mean squared error in units of the target's standard deviation) is averaged over the
draws of a set. Each line gives the geometric mean over sets of its ratio to the
flagship's loss (0.001 added to both), the numbers of sets on which it is lower and
higher by more than 0.1 %, and the two-sided p-value of Wilcoxon's test, not corrected
for the number of lines. No member is fitted again: support vector machines keep the
scales found by kernel ridge regression, even if that is left out.
"""

import argparse
import warnings
from collections import defaultdict
from dataclasses import fields
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from adakern.adaptive import blend as constants
from adakern.adaptive.blend import Mixture, WeightedMean
from adakern.adaptive.table import Table

#: Below this number of rows, the classifier calibrates members by slopes alone.
FEW_ROWS = 300

#: Whether the task is classification -> other values of each constant.
OTHERS = {
    False: {
        "SMALLEST_WEIGHT": (0.0, 0.03),
        "LARGEST_SHARE": (0.02, np.inf),
        "PRIOR_ROWS_OF_MEAN": (3.0, 100.0),
    },
    True: {
        "SMALLEST_WEIGHT": (0.0, 0.03),
        "PRIOR_ROWS": (0.0, 3.0, 30.0, 100.0),
        "PRIOR_ROWS_OF_CLASSES": (0.02, 1.0),
        "RIDGES_OF_FEW": ((0.5, 1.0), (10.0, 10.0)),
    },
}


class Kept:
    """Results of ``small_tables.py`` for one draw of a set."""

    def __init__(self, path):
        with np.load(path) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.classify = bool(self.arrays["classify"])
        self.names = self.arrays["names"].tolist()
        given = {
            f.name: self.arrays[f.name]
            for f in fields(Table)
            if f.name not in {"means", "groups"}
        }
        self.table = Table(**given | {"in_time_order": False})

    def loss(self, members):
        """Loss of the blend of some members on the held-out rows."""
        values = [self.arrays["left_out"][m].astype(float) for m in members]
        held = [self.arrays["held"][m].astype(float) for m in members]
        new = WeightedMean(unit=self.arrays["unit"])
        if self.classify:
            few_rows = self.table.mass.size < FEW_ROWS
            new = Mixture(classes=self.arrays["classes"], few_rows=few_rows)
        fitted = new.fit(values, self.arrays["slopes"][members], self.table)
        X_held = self.arrays["X_held"]
        found = fitted.combine(held, X_held)
        return self.error(found if self.classify else fitted.decode(found))

    def error(self, predicted):
        """Log loss of probabilities, or root mean squared error of predictions."""
        y = self.arrays["y_held"]
        if not self.classify:
            return np.sqrt(np.mean((predicted - y) ** 2))
        own = y[:, None] == self.arrays["classes"]
        known = own.any(axis=1)  # classes without training rows have no probability
        return -np.mean(np.log(predicted[known][own[known]]))


def losses(sets, without=()):
    """Set -> mean loss over its draws of the blend without some members."""
    found = {}
    for key, draws in sets.items():
        some = [[m for m, n in enumerate(d.names) if n not in without] for d in draws]
        found[key] = np.mean(
            [draw.loss(members) for draw, members in zip(draws, some, strict=True)]
        )
    return found


def print_line(label, base, other):
    """Print a comparison of the losses of sets with those of the flagship's blend."""
    ratios = np.array([(other[k] + 1e-3) / (base[k] + 1e-3) for k in base])
    lower = int(np.sum(ratios < 0.999))
    higher = int(np.sum(ratios > 1.001))
    logs = np.round(np.log(ratios), 6)  # members are kept in single precision
    p = wilcoxon(logs).pvalue if logs.any() else 1.0
    mean = np.exp(logs.mean())
    print(f"{label:42} {mean:6.3f}   {lower:3} lower {higher:3} higher   p = {p:.2g}")


def print_table(sets, classify):
    """Print a line for each member and each other value of a constant."""
    base = losses(sets)
    kept = {
        k: np.mean([d.error(d.arrays["flagship"]) for d in v]) for k, v in sets.items()
    }
    print_line("the flagship, with equal rows", base, kept)
    for name in sorted(
        {name for draws in sets.values() for d in draws for name in d.names}
    ):
        print_line(f"without {name}", base, losses(sets, [name]))
    for constant, values in OTHERS[classify].items():
        today = getattr(constants, constant)
        for value in values:
            setattr(constants, constant, value)
            print_line(f"{constant} = {value}, not {today}", base, losses(sets))
        setattr(constants, constant, today)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", nargs="+", help="leave out only these members")
    parser.add_argument(
        "--rows", type=int, required=True, help="maximum number of training rows"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    files = defaultdict(lambda: defaultdict(list))
    for path in sorted(args.folder.glob("*.npz")):
        name, n_rows, _ = path.stem.rsplit(".", 2)
        if int(n_rows) <= args.rows:
            files[name][int(n_rows)].append(path)
    by_task = {True: {}, False: {}}
    for name, of_rows in files.items():
        draws = [Kept(path) for path in of_rows[max(of_rows)]]
        by_task[draws[0].classify][name] = draws
    for classify, sets in by_task.items():
        if sets:
            task = "classification" if classify else "regression"
            print(f"{task}, {len(sets)} sets of {args.rows} rows")
            if args.without:
                label = f"without {' and '.join(args.without)}"
                print_line(label, losses(sets), losses(sets, args.without))
            else:
                print_table(sets, classify)


if __name__ == "__main__":
    main()
