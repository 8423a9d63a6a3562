"""Fitted models as MLflow keeps them: skops format, with a signature.

skops names every type that a file holds and makes none that the reader does not trust,
where unpickling runs whatever the file says.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from adakern.model_file import TableModel, as_columns
from adakern_bench.records.machine import package_versions

__all__ = ["import_formats", "kept_models", "save_model"]


def import_formats():
    """Import what `save_model` needs, seconds, before the children that solve start.

    They then neither wait for it nor have it counted as memory of theirs.
    """
    import mlflow.sklearn
    import skops.io

    return mlflow.sklearn, skops.io


def save_model(estimator, data, table, rows, folder):
    """Write a folder that ``mlflow.sklearn.load_model`` and ``mlflow.pyfunc`` read.

    It holds a pipeline from the named columns of the table's file to predictions.
    """
    flavour, skops_io = import_formats()
    from mlflow.models import ModelSignature, infer_signature
    from mlflow.types import ColSpec, Schema
    from mlflow.types.schema import AnyType

    example = table.as_written(rows)
    pipeline = table_model(estimator, data, table)
    prediction = infer_signature(model_output=pipeline.predict(example)).outputs
    # MLflow would refuse whole numbers where the training rows had fractions; the
    # pipeline reads the cells as `adakern predict` does.
    columns = Schema([ColSpec(AnyType(), name) for name in example.columns])
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    own_types = skops_io.get_untrusted_types(data=skops_io.dumps(pipeline))
    needed = package_versions() | {"skops": version("skops"), "pandas": version("pandas")}
    del needed["python"]
    flavour.save_model(
        pipeline,
        folder,
        serialization_format=flavour.SERIALIZATION_FORMAT_SKOPS,
        skops_trusted_types=own_types,
        signature=ModelSignature(columns, prediction),
        input_example=example,
        # Stated, since MLflow else finds them out by loading the model: seconds.
        pip_requirements=[f"{name}=={version}" for name, version in needed.items()],
    )


def table_model(estimator, data, table):
    """The fitted pipeline: columns by name, preparation, estimator in the target's units."""
    if data.centre != 0.0 or data.spread != 1.0:
        scaled = TransformedTargetRegressor(
            FrozenEstimator(estimator), transformer=StandardScaler()
        )
        estimator = scaled.fit(data.X_train, data.y_train)
    kinds = table.kinds or dict.fromkeys(table.feature_names, "numeric")
    known = {"kinds": kinds, "date_formats": table.date_formats}
    steps = [("columns", FunctionTransformer(as_columns, kw_args=known))]
    if not table.is_mixed:
        steps.append(("numbers", FunctionTransformer(np.asarray)))
    steps += [(f"preparation_{k}", step) for k, step in enumerate(data.steps)]
    return TableModel([*steps, ("model", estimator)])


def kept_models(results, record):
    """Files of the model of a record, by their path in its folder; {} without one."""
    cell = Path(results) / "models" / record["dataset"] / record["method"]
    found = {}
    for folder in cell.glob(f"*/{record['repeat']}"):
        files = (path for path in folder.rglob("*") if path.is_file())
        found = {path.relative_to(folder).as_posix(): path for path in files}
    return found
