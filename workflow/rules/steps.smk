# Jobs of other rules that one process runs, for the groups in cells.smk.

import inspect
from functools import cache
from types import SimpleNamespace


@cache
def parameters(rule):
    """Name -> (function, its arguments after the wildcards) of a rule's parameters."""
    return {
        name: (
            (value, list(inspect.signature(value).parameters)[1:])
            if callable(value)
            else (lambda w, value=value: value, [])
        )
        for name, value in getattr(rules, rule).params.items()
    }


def step(rule, given, **wildcards):
    """A job of another rule, as passed to its script.

    Only parameters whose arguments after the wildcards are `given` are included: none,
    or `output` for those that trigger no rerun.
    """
    w, of_rule = SimpleNamespace(**wildcards), getattr(rules, rule)

    def files(of_kind):
        return {
            name: file(w) if callable(file) else str(file).format(**wildcards)
            for name, file in of_kind.items()
        }

    return {
        "rule": rule,
        "wildcards": wildcards,
        "input": files(of_rule.input),
        "output": files(of_rule.output),
        "log": [str(of_rule.log[0]).format(**wildcards)],
        "params": {
            name: value(w, *given)
            for name, (value, others) in parameters(rule).items()
            if others == given
        },
    }


def tables_in(group):
    """Distinct names of a group's tables."""
    return dict.fromkeys(map(base_name, PLAN.groups[int(group)]))


def table_steps(group, *given):
    """Jobs that make the tables of a group."""
    return [step("table", [*given], dataset=name) for name in tables_in(group)]


def cell_steps(group):
    """Yield the splits, searches and fits of a group in order of execution."""
    for dataset in PLAN.groups[int(group)]:
        yield step("split", [], dataset=dataset)
        for rule, methods in (
            ("search", PLAN.searches(dataset)),
            ("solve", PLAN.methods_of[dataset]),
        ):
            for method in methods:
                for batch in PLAN.batches(dataset):
                    w = {"dataset": dataset, "method": method, "batch": batch}
                    yield step(rule, [], **w)
