"""Fitted models as MLflow keeps them: skops format, with a signature.

skops names every type that a file holds and makes none that the reader does not trust,
where unpickling runs whatever the file says. Importing this takes seconds: a job does it
before the children start that solve.
"""

from importlib.metadata import version

import mlflow.sklearn
import skops.io
from mlflow.models import infer_signature

from adakern_bench.records.machine import package_versions

__all__ = ["save_model"]


def save_model(estimator, X, prediction, folder, preparation):
    """Write a folder that ``mlflow.sklearn.load_model`` reads."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    needed = package_versions() | {"skops": version("skops")}
    del needed["python"]
    mlflow.sklearn.save_model(
        estimator,
        folder,
        serialization_format=mlflow.sklearn.SERIALIZATION_FORMAT_SKOPS,
        skops_trusted_types=skops.io.get_untrusted_types(data=skops.io.dumps(estimator)),
        signature=infer_signature(X, prediction),
        metadata={"preparation": dict(preparation)},
        # Stated, since MLflow else finds them out by loading the model: seconds.
        pip_requirements=[f"{name}=={version}" for name, version in needed.items()],
    )
