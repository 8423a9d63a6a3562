"""Quantities of a run, each with its label, unit and direction."""

from typing import NamedTuple

__all__ = [
    "GREATER_IS_BETTER",
    "MAIN_METRIC",
    "METRICS",
    "OPTIONAL_METRICS",
    "QUANTITIES",
    "RECORDED",
    "Quantity",
]


class Quantity(NamedTuple):
    """A number of a record, and how it is displayed."""

    label: str
    unit: str = ""
    greater_is_better: bool | None = None
    scale: float = 1  # factor from the unit of the record to the one displayed
    digits: int | None = 4  # decimals; None: three significant digits
    task: str = ""  # task of the predictions; "": a quantity of the run itself
    optional: bool = False  # only of methods with probabilities or intervals
    shown: bool = True  # shown in tables of all metrics

    @property
    def heading(self):
        """Label and unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def _percent(label, greater_is_better=True, task="classification", **more):
    return Quantity(label, "%", greater_is_better, 100, 2, task, **more)


_OF_CLASSES = {"task": "classification", "optional": True}
_OF_INTERVALS = {"task": "regression", "optional": True}
_ERROR = {"greater_is_better": False, "task": "regression"}
_IN_UNITS = {"greater_is_better": False, "digits": None} | _OF_INTERVALS
_SECONDS = {"unit": "s", "greater_is_better": False, "digits": None}

QUANTITIES = {
    "accuracy": _percent("Accuracy"),
    "balanced_accuracy": _percent("Balanced accuracy"),
    "f1": _percent("F1"),
    "log_loss": Quantity("Log loss", "", False, **_OF_CLASSES),
    "auc": _percent("Area under the ROC curve", optional=True),
    "brier": Quantity(
        "Brier score, summed over classes (0 to 2)", "", False, **_OF_CLASSES
    ),
    "calibration_error": _percent("Expected calibration error", False, optional=True),
    "calibration_error_low": _percent(
        "Calibration error, from (95 %)", None, optional=True
    ),
    "calibration_error_high": _percent(
        "Calibration error, to (95 %)", None, optional=True
    ),
    "rmse": Quantity("Root mean squared error", digits=None, **_ERROR),
    "relative_mse": Quantity("Relative mean squared error", **_ERROR),
    "r2": Quantity("R²", "", True, task="regression"),
    "mae": Quantity("Mean absolute error", digits=None, **_ERROR),
    "interval_coverage": _percent("Coverage of 90 % intervals", None, **_OF_INTERVALS),
    "interval_width": Quantity("Mean width of 90 % intervals", **_IN_UNITS),
    "interval_score": Quantity("Interval score of 90 % intervals", **_IN_UNITS),
    "coverage_easy": _percent(
        "Coverage, third of narrowest intervals", None, **_OF_INTERVALS
    ),
    "coverage_middle": _percent("Coverage, middle third", None, **_OF_INTERVALS),
    "coverage_hard": _percent(
        "Coverage, third of widest intervals", None, **_OF_INTERVALS
    ),
    "crps": Quantity("Continuous ranked probability score", **_IN_UNITS),
    "fit_seconds": Quantity("Time to fit", **_SECONDS),
    "search_seconds": Quantity("Time to search", **_SECONDS),
    "predict_seconds": Quantity("Time to predict", **_SECONDS),
    "run_seconds": Quantity("Time of the run, including start-up", **_SECONDS),
    "predictions_per_second": Quantity("Predictions per second", digits=0),
    "model_bytes": Quantity("Size of the model", "MB", None, 1e-6, None),
    "peak_memory_bytes": Quantity("Peak memory", "MB", None, 1e-6, 0),
    "rank": Quantity("Rank", digits=1),
    "n_support": Quantity("Support points", digits=1),
    "n_iter": Quantity("Iterations", digits=1),
    "objective": Quantity("Objective", digits=None, shown=False),
    "duality_gap": Quantity("Relative duality gap", digits=None, shown=False),
}

METRICS = {
    task: tuple(name for name, q in QUANTITIES.items() if q.task == task)
    for task in ("classification", "regression")
}
OPTIONAL_METRICS = {
    task: tuple(name for name in names if QUANTITIES[name].optional)
    for task, names in METRICS.items()
}
#: Costs of a run and size of its model, which have no training or test part.
RECORDED = tuple(name for name, quantity in QUANTITIES.items() if not quantity.task)
GREATER_IS_BETTER = {
    name: quantity.greater_is_better
    for name, quantity in QUANTITIES.items()
    if quantity.greater_is_better is not None
}
#: Default metric of ranks, tests and leaderboards. For regression it is the root mean
#: squared error, which others publish, so that their methods can be ranked with ours;
#: on one split it orders methods as R² and the relative error do.
MAIN_METRIC = {"classification": "accuracy", "regression": "rmse"}


def main_metric(task, metric=None):
    """The metric to rank a task by: `metric`, unless it is None or of another task."""
    of_task = QUANTITIES[metric].task if metric in QUANTITIES else task
    return metric if metric and of_task == task else MAIN_METRIC[task]
