"""Fitted models in MLflow's format: skops, with a signature.

Importing this module takes seconds.
"""

from importlib.metadata import version

import mlflow.sklearn
import numpy as np
import skops.io
from mlflow.models import ModelSignature, infer_signature
from mlflow.types import ColSpec, Schema
from mlflow.types.schema import AnyType
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from adakern.model_file import TableModel, as_columns

#: Requirements of a saved model.
PACKAGES = ("adakern", "numpy", "scipy", "scikit-learn", "skops", "pandas")


def save_model(estimator, data, table, rows, folder):
    """Save a fitted pipeline for ``mlflow.sklearn.load_model`` and
    ``mlflow.pyfunc``.
    """
    example = table.as_written(rows)
    pipeline = table_model(estimator, data, table)
    prediction = infer_signature(model_output=pipeline.predict(example)).outputs
    # MLflow would reject integers in a column trained on floats; the pipeline reads
    # cells as `adakern predict` does.
    columns = Schema([ColSpec(AnyType(), name) for name in example.columns])
    folder.parent.mkdir(parents=True, exist_ok=True)
    own_types = skops.io.get_untrusted_types(data=skops.io.dumps(pipeline))
    mlflow.sklearn.save_model(
        pipeline,
        folder,
        serialization_format=mlflow.sklearn.SERIALIZATION_FORMAT_SKOPS,
        skops_trusted_types=own_types,
        signature=ModelSignature(columns, prediction),
        input_example=example,
        # Otherwise MLflow infers them by loading the model, which takes seconds.
        pip_requirements=[f"{name}=={version(name)}" for name in PACKAGES],
    )


def table_model(estimator, data, table):
    """The fitted pipeline: columns by name, preparation, estimator in the target's
    units.
    """
    if data.centre is not None:
        frozen = FrozenEstimator(estimator)
        scaled = TransformedTargetRegressor(frozen, transformer=StandardScaler())
        estimator = scaled.fit(data.X_train, data.y_train)
    kinds = table.kinds or dict.fromkeys(table.feature_names, "numeric")
    known = {"kinds": kinds, "forms": table.forms}
    steps = [("columns", FunctionTransformer(as_columns, kw_args=known))]
    if not table.is_mixed:
        steps.append(("numbers", FunctionTransformer(np.asarray)))
    steps += [(f"preparation_{k}", step) for k, step in enumerate(data.steps)]
    return TableModel([*steps, ("model", estimator)])
