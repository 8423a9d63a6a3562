"""Fitted models as MLflow keeps them: skops format, with a signature.

skops names every type that a file holds and makes none that the reader does not trust,
where unpickling runs whatever the file says.
"""

from importlib.metadata import version
from pathlib import Path

from adakern_bench.records.machine import package_versions

__all__ = ["import_formats", "kept_models", "save_model"]


def import_formats():
    """Import what `save_model` needs, seconds, before the children that solve start.

    They then neither wait for it nor have it counted as memory of theirs.
    """
    import mlflow.sklearn
    import skops.io

    return mlflow.sklearn, skops.io


def save_model(estimator, X, prediction, folder, preparation):
    """Write a folder that ``mlflow.sklearn.load_model`` reads."""
    flavour, skops_io = import_formats()
    from mlflow.models import infer_signature

    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    own_types = skops_io.get_untrusted_types(data=skops_io.dumps(estimator))
    needed = package_versions() | {"skops": version("skops")}
    del needed["python"]
    flavour.save_model(
        estimator,
        folder,
        serialization_format=flavour.SERIALIZATION_FORMAT_SKOPS,
        skops_trusted_types=own_types,
        signature=infer_signature(X, prediction),
        metadata={"preparation": dict(preparation)},
        # Stated, since MLflow else finds them out by loading the model: seconds.
        pip_requirements=[f"{name}=={version}" for name, version in needed.items()],
    )


def kept_models(results, record):
    """Files of the model of a record, by their path in its folder; {} without one."""
    cell = Path(results) / "models" / record["dataset"] / record["method"]
    found = {}
    for folder in cell.glob(f"*/{record['repeat']}"):
        files = (path for path in folder.rglob("*") if path.is_file())
        found = {path.relative_to(folder).as_posix(): path for path in files}
    return found
