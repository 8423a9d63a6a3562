"""Composition of an experiment; errors are raised before anything runs."""

import math
import shutil
import subprocess
import sys

import pytest
from omegaconf import OmegaConf

from adakern_bench.base.paths import CONF
from adakern_bench.config import compose
from adakern_bench.config.compose import ConfigError, available, load_config
from adakern_bench.config.plan import load_plan, plan_from_snakemake
from adakern_bench.config.schema import Config, View
from project import Project


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    """A configuration folder with the experiment ``small``."""
    return Project(tmp_path_factory.mktemp("project")).root / "conf"


def plan(conf, *overrides):
    return load_plan(["experiment=small", *overrides], conf=conf)


def error_message(conf, *overrides):
    """The message of the ConfigError that this plan raises."""
    with pytest.raises(ConfigError) as caught:
        plan(conf, *overrides)
    return str(caught.value)


def test_fast_typing_of_entries_equals_omegaconf():
    """The fast path converts thousands of entries in seconds."""
    chosen = ",".join(available("dataset")[::8])
    composed = compose._compose([f"dataset=[{chosen}]"], CONF)
    OmegaConf.set_struct(composed, False)
    config = compose._typed(Config, composed)
    merged = OmegaConf.merge(OmegaConf.structured(Config), composed)
    assert config == OmegaConf.to_object(merged) and len(config.dataset) > 5
    (name, *_) = config.dataset
    composed.dataset[name].n = "12"  # OmegaConf converts this string to a number
    assert compose._typed(Config, composed).dataset[name].n == 12


def test_figure_added_by_override(conf):
    function = "adakern_bench.report.sweep.plot_sweep"
    added = [f"+figures.mine.function={function}", "+figures.mine.params.x=C"]
    config = plan(conf, *added).config
    assert config.figures["mine"] == View(function, {"x": "C"})
    assert config.name == "small"  # the comparison is unchanged
    with pytest.raises(ConfigError, match="a colon followed by a blank"):
        plan_from_snakemake({"overrides": {"+figures.mine={function": "x}"}})


def test_validated_recipe_is_not_validated_again(conf, tmp_path):
    overrides = ["experiment=small", f"data.cache={tmp_path}", "--allow-outside"]
    load_plan(overrides, conf)
    code = (
        "import sys; from adakern_bench.config.plan import load_plan;"
        f"load_plan({overrides!r}, {str(conf)!r});"
        "sys.exit(not {'sklearn', 'scipy', 'pandas', 'torch'}.isdisjoint(sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(ConfigError, match="'C'"):
        load_plan([*overrides, "+settings.clowns.plain.C=-3"], conf)


def test_grid_values_match_the_papers():
    config = load_config(["method=[svm-cv]"])
    grid = config.method["svm-cv"].classifier.grid
    assert grid["C"] == [2.0**k for k in range(-5, 6)]
    sigma = [2.0**k for k in range(-5, 6)]
    assert grid["gamma"] == pytest.approx([1 / (2 * s**2) for s in sigma])


SETTING, SWEEP = "method.plain.classifier", "adakern_bench.report.sweep"
RELATIVE = "+sweep.svm-cv.gamma={relative_to: C, values: [1]}"


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        # Unknown names, each with the nearest valid one.
        (["dataset=[clown]"], ["'clown'", "conf/dataset/clown.yaml", "'clowns'"]),
        (["method=[svm-cw]"], ["'svm-cw'", "Did you mean 'svm-cv'?"]),
        (["experiment=smal"], ["'smal'", "'small'"]),
        (["protocol.repeat=3"], ["'repeat'", "Did you mean 'repeats'?"]),
        (["++dataset.clowns.tusk=x"], ["'tusk'", "'task'"]),
        (["+settings.clown.plain.C=1"], ["settings.clown", "'clowns'"]),
        (["+settings.clowns.plan.C=1"], ["settings.clowns.plan", "'plain'"]),
        (["+sweep.plan.C=[1]"], ["sweep.plan", "'plain'"]),
        (["published=dank_uci"], ["published", "'dank_uci'"]),
        ([f"++{SETTING}.tune_with=svm"], ["'svm'", "'svm-cv'"]),
        (
            [f"++{SETTING}.tune_with=plain"],
            ["is circular (plain -> plain)", "tune_with: self"],
        ),
        (["sweep.plain=[0,1]"], ["sweep.plain=[0, 1] must map parameters to values"]),
        (
            ["+settings.clowns.plain=3"],
            ["settings.clowns must map methods to parameters"],
        ),
        (["+settings.clowns=3"], ["settings.clowns must map methods to parameters"]),
        (["protocol=null"], ["protocol=null selects nothing valid", "protocol=[]"]),
        (["protocol.repeats=1e20"], ["protocol.repeats", "Integer"]),
        (["protocol.repeats=100001"], ["protocol.repeats=100001", "1 to 100000"]),
        (
            ["+settings.sandwich=3"],
            ["settings.sandwich must map methods to parameters"],
        ),
        (["method=null"], ["method=null selects nothing valid", "method=[name]"]),
        (
            ["tracking.models=true", "tracking.register=a/b"],
            ["tracking.register='a/b'", "must not contain /"],
        ),
        ([f"++{SETTING}.estimator.gama=1"], ["plain", "'gama'", "'gamma'"]),
        (["method.plan.C=1"], ["not selected. Did you mean 'plain'"]),
        (["method.plain.gama=1"], ["'gama'", "Did you mean 'gamma'"]),
        ([f"{SETTING}.estimator._target_=sklearn.svm.SVX"], ["sklearn.svm.SVX"]),
        (["protocol.repeats"], ["'protocol.repeats'", "key=value"]),
        (["=3"], ["'=3'", "key=value"]),
        (["results=null"], ["results"]),
        (["title=[ä,b]"], ["'title=[ä,b]'", "cannot be parsed", "['Größe',b]"]),
        (['title="Größe'], ["cannot be parsed", "quotation marks"]),
        (["dataset=a,b"], ["'dataset=a,b'", "a list as [a,b]"]),
        (["protocol.repeats=¾"], ["protocol.repeats", "'¾'", "Integer"]),
        (["jobs.threads=range(1,3)"], ["jobs.threads", "'range(1,3)'", "Integer"]),
        (
            [f"figures.mine.function={SWEEP}.plot_swep"],
            ["figures.mine", "'plot_sweep'"],
        ),
        # Incomplete interpolations.
        (["title='cost ${'"], [r"write \${"]),
        (
            [f"{SETTING}.estimator.C=???"],
            ["issing mandatory value", f"{SETTING}.estimator.C"],
        ),
        # Wrong types.
        (["protocol.repeats=many"], ["protocol.repeats", "'many'", "Integer"]),
        # Out of range, NaN.
        (["protocol.repeats=0"], ["protocol.repeats=0", "1 to 100000"]),
        (["protocol.test_size=nan"], ["protocol.test_size=nan", "out of range"]),
        (["protocol.scale=units"], ["protocol.scale='units'", "'unit'"]),
        ([f"{SETTING}.estimator.C=-1"], ["plain", "'C'", "-1"]),
        ([f"++{SETTING}.grid.gamma=[1,-2]"], ["plain", "'gamma'", "-2"]),
        ([f"++{SETTING}.grid.gamma=[1,nan]"], ["plain", "'gamma'", "nan"]),
        (["+sweep.plain.C=[1,-5]"], ["plain@C=-5", "'C'"]),
        # Grids without points.
        ([f"++{SETTING}.grid.C=[]"], ["plain", "'C'", "no points"]),
        ([f"++{SETTING}.grid.C=2"], ["plain", "'C'", "list"]),
        (
            [f"++{SETTING}.grid.C={{log_uniform:[1,9]}}"],
            ["plain", "'C'", "sets random"],
        ),
        ([f"++{SETTING}.grid.C='${{powers:2,5,-5}}'"], ["'C'", "no points"]),
        # Sweeps and special computations.
        (["+sweep.plain.C=3"], ["the axis 'C' is"]),
        (
            ["+sweep.plain.kernel={rbf: 3}"],
            ["mapping of named points to their parameters"],
        ),
        (["+sweep.plain.K=[1]"], ["has no parameter 'K'"]),
        (["protocol.train_rows=[1]"], ["protocol.train_rows=1 is out of range"]),
        (["method=[svm-cv]", RELATIVE], ["gamma is relative to C, which"]),
        (["+special.dank_boundary={}"], ["uses one split, but clowns has 2"]),
        (["+special.dank_boundry={}"], ["Did you mean 'dank_boundary'?"]),
        # Incompatible selections.
        (["dataset=[step-1d]"], ["nothing to run", "step-1d", "plain"]),
        (
            ["metric=rmse"],
            [
                "metric=rmse cannot rank methods for classification",
                "balanced_accuracy",
                "auc",
            ],
        ),
        (["protocol=published"], ["dataset.clowns: protocol.published_split=require"]),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_invalid_override_is_named(conf, overrides, parts):
    message = error_message(conf, *overrides)
    for part in parts:
        assert part in message
    assert "omegaconf" not in message.lower()


@pytest.mark.parametrize(
    "title",
    ["Größe", "it's", "a, b", "a(b; <c>", "100 %", "x=y", "ü\\", "Tür\\'s", "价格 $5"],
)
def test_title_is_kept_verbatim(conf, title):
    assert load_config([f"title={title}"], conf).title == title


def test_all_problems_are_reported_at_once(conf):
    wrong = ["protocol.repeats=0", "jobs.threads=0", f"{SETTING}.estimator.C=-1"]
    assert error_message(conf, *wrong).count("\n  - ") == 3


def test_nested_estimator_parameters_are_validated(conf):
    svm = "{_target_: sklearn.svm.SVC, C: 1}"
    bagging = f"{{_target_: sklearn.ensemble.BaggingClassifier, estimator: {svm}}}"
    (conf / "method/nested.yaml").write_text(f"classifier: {{estimator: {bagging}}}")
    recipe = "method.nested.classifier"
    plan(conf, "method=[nested]", f"{recipe}.grid.estimator__C=[1,2]")
    for override, message in {
        "estimator.estimator.C=-1": "'C' parameter of SVC.*-1",
        "grid.estimator__C=[1,-2]": "'C' parameter of SVC.*-2",
        "grid.estimator__D=[1]": "Invalid parameter 'D' for estimator SVC",
    }.items():
        with pytest.raises(ConfigError, match=f"nested.*{message}"):
            plan(conf, "method=[nested]", f"{recipe}.{override}")


def test_method_parameter_applies_to_both_tasks(conf):
    both = ["method=[dank,svm-cv,lab-ard]", "dataset=[clowns,step-1d]"]
    planned = plan(
        conf, *both, "method.dank.eta=2", "method.dank.eta=0.5", "method.svm-cv.C=3"
    )
    method = planned.config.method["dank"]
    assert (
        method.classifier.estimator["eta"] == method.regressor.estimator["eta"] == 0.5
    )
    recipe = planned.recipe("clowns", "svm-cv")
    assert recipe["estimator"]["C"] == 3 and set(recipe["grid"]) == {"gamma"}


def test_sweep_of_unavailable_method_is_dropped(conf):
    text = "# @package method.absent\nneeds: [no_such_package]\n"
    (conf / "method/absent.yaml").write_text(
        f"{text}classifier: {{estimator: {{_target_: x.Y}}}}"
    )
    with pytest.warns(UserWarning, match="absent is left out: no_such_package"):
        planned = plan(conf, "method=[plain,absent]", "+sweep.absent.C=[1,2]")
    assert planned.cells == [("clowns", "plain")]
    tuned = "method.svm-cv.classifier.tune_with=absent"
    with pytest.warns(UserWarning, match="svm-cv is left out: no_such_package"):
        assert plan(conf, "method=[plain,svm-cv]", tuned).methods == ["plain"]


def test_experiment_change_to_unselected_data_set_raises(conf):
    (conf / "experiment" / "changes.yaml").write_text(
        "# @package _global_\n"
        "defaults: [{override /dataset: [clowns]}, {override /method: [plain]}]\n"
        "name: changes\n"
        "dataset: {clowns: {loader: {n: 60}}}\n"
    )
    assert load_plan(["experiment=changes"], conf=conf).config.dataset["clowns"].n == 60
    with pytest.raises(ConfigError, match=r"dataset\.clowns.*dataset=\[clowns"):
        load_plan(["experiment=changes", "dataset=[sandwich]"], conf=conf)
    shutil.copy(conf / "experiment/changes.yaml", conf / "experiment/copy.yaml")
    with pytest.raises(
        ConfigError, match=r"experiment copy has name=.changes.*overwrite"
    ):
        load_plan(["experiment=copy"], conf=conf)


@pytest.mark.parametrize(
    ("folder", "text", "parts"),
    [
        (
            "method",
            "classifier: {estimator: {_target_: sklearn.svm.SVR}}",
            ["SVR is a regressor; move it to"],
        ),
        ("method", "classifier: {estimator: {C: 1}}", ["new", "_target_"]),
        ("method", "description: later", ["method new has no recipe", "classifier"]),
        (
            "method",
            "classifier: {estimator: {_target_: sklearn.svm.SVCC}}",
            ["'SVCC'. Did you mean 'SVC'?"],
        ),
        (
            "method",
            "classifier: {estimator: {_target_: methods.mein.Mine}}",
            ["the project has no file methods/mein.py"],
        ),
        (
            "method",
            "classifier: {estimator: {_target_: SVC}}",
            ["a class needs its module, such as sklearn.svm.SVC"],
        ),
        (
            "method",
            "classifier: {estimator: {_target_: sklearn.svm.SVC}, grid: [1]}",
            ["method.new.classifier.grid is [1]; expected a mapping"],
        ),
        ("method", "cost: fast", ["method.new.cost is 'fast'; expected a mapping"]),
        (
            "method",
            "{cost: {seconds: -3}, n_gram_matrices: -1, classifier: {folds: 0}}",
            ["cost.seconds=-3", "n_gram_matrices=-1", "new.classifier.folds=0"],
        ),
        (
            "method",
            "classifier: {estimator: {_target_: sklearn.svm.SVC}, "
            f"grid: {{C: {[*range(1, 102)]}, tol: {[*range(1, 102)]}}}}}",
            ["the grid has 10,201 points", "at most 10,000", "random"],
        ),
        (
            "method",
            "classifier: {estimator: {_target_: sklearn.svm.SVC}, tune_with: krr-cv}",
            ["krr-cv has no recipe for classification, the task of clowns"],
        ),
        ("dataset", "files: a.csv", ["dataset.new.files is 'a.csv'; expected list"]),
        (
            "dataset",
            "n: many",
            ["'many' of type 'str' could not be converted to Integer", "dataset.new.n"],
        ),
        (
            "dataset",
            "files: [{pth: a.csv}]",
            ["'pth' is not a setting (at dataset.new.files[0].pth)", "'path'"],
        ),
        ("dataset", "title: cost ${", ["new.yaml", r"write \${"]),
        ("dataset", "taks: classification", ["taks", "'task'"]),
        (
            "dataset",
            "title: !!python/name:os.system",
            ["dataset/new.yaml", "not valid YAML", "line 2"],
        ),
        ("method", "classifier: {", ["method/new.yaml is not valid YAML", "line 3"]),
        (
            "method",
            "classifier: {estimator: {_target_: [os]}}",
            ["\"['os']\" cannot be used"],
        ),
    ],
)
def test_invalid_new_file_is_named(conf, folder, text, parts):
    path = conf / folder / "new.yaml"
    path.write_text(f"# @package {folder}.new\n{text}\n")
    message = error_message(conf, f"{folder}=[new]")
    for part in parts:
        assert part in message


def test_unknown_snakemake_config_key_raises():
    with pytest.raises(ConfigError, match=r"experimant.*Did you mean 'experiment'"):
        plan_from_snakemake({"experimant": "quickstart"})


def test_overrides_as_string_or_list():
    from_string = plan_from_snakemake(
        {"overrides": "protocol.repeats=3 dataset=[clowns]"}
    )
    from_list = plan_from_snakemake(
        {"overrides": ["protocol.repeats=3", "dataset=[clowns]"]}
    )
    assert from_string.config == from_list.config
    assert plan_from_snakemake({"overrides": None}).config.name == "quickstart"


def test_infinite_parameter_value_is_accepted(conf):
    planned = plan(conf, f"{SETTING}.estimator.C=inf")
    assert planned.recipe("clowns", "plain")["estimator"]["C"] == math.inf
