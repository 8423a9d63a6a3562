"""The adapters for AutoGluon and TabArena, with and without these packages."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from adakern.integrations.autogluon import AdaptiveKernelModel
from adakern.integrations.tabarena import AdaptiveKernelSystem

pytest.importorskip("pandas")
TASKS = [(load_diabetes, "regression"), (load_wine, "multiclass")]
FEW = {"members": ["linear", "laplacian"], "random_state": 0}


class ModelWithoutAutoGluon(AdaptiveKernelModel):
    """What AutoGluon gives to `_fit`, without AutoGluon."""

    def __init__(self, problem_type):
        self.problem_type = problem_type

    def preprocess(self, X, y=None):
        return X

    def _get_model_params(self):
        return dict(FEW)


def table(load):
    frame = load(as_frame=True).frame.sample(frac=1, random_state=0)
    return frame.drop(columns="target"), frame["target"]


@pytest.mark.parametrize(("load", "problem_type"), TASKS)
def test_autogluon_validation_rows_weight_members(load, problem_type):
    X, y = table(load)
    model, y_val = ModelWithoutAutoGluon(problem_type), y[100:].copy()
    if load is load_wine:
        y_val.iloc[0] = 99  # a class that training lacks
    model._fit(X[:100], y[:100], X[100:], y_val, time_limit=60, num_cpus=1, num_gpus=0)
    assert len(model.model.oof_prediction_) == len(y_val) - (load is load_wine)
    assert 0 < model.model.time_limit < 60
    assert model.model.score(X[100:], y[100:]) > 0.3


@pytest.mark.parametrize(("load", "problem_type"), TASKS)
def test_tabarena_predictions_have_index_of_rows(load, problem_type):
    X, y = table(load)
    y = y if load is load_diabetes else y.map({0: "a", 1: "b", 2: "c"})
    X["patient"] = np.arange(len(X)) // 4
    system = AdaptiveKernelSystem(options=FEW)
    system._fit_system(
        X[:120],
        y[:120],
        problem_type=problem_type,
        validation_metadata=SimpleNamespace(group_on="patient"),
        num_cpus=1,
        time_limit=60,
        random_state=3,
        target_name="target",
    )
    if load is load_diabetes:
        predicted = system._predict(X[120:])
        assert np.corrcoef(predicted, y[120:])[0, 1] > 0.5
    else:
        predicted = system._predict_proba(X[120:])
        assert list(predicted.columns) == ["a", "b", "c"]
        assert np.mean(predicted.idxmax(axis=1) == y[120:]) > 0.8
    assert (predicted.index == X.index[120:]).all()


def test_autogluon_tabular_predictor(tmp_path):
    tabular = pytest.importorskip("autogluon.tabular")
    frame = load_wine(as_frame=True).frame
    predictor = tabular.TabularPredictor("target", path=tmp_path / "model", verbosity=0)
    predictor.fit(frame, hyperparameters={AdaptiveKernelModel: FEW}, num_cpus=1)
    assert predictor.evaluate(frame)["accuracy"] > 0.9
