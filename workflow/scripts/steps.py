"""Run short jobs of other rules one after another in this process.

If a job fails, the remaining jobs of its data set are skipped and the others continue.
Finished results are kept, so that the next call does not compute them again.
"""

import runpy
import traceback
from pathlib import Path
from types import SimpleNamespace

from adakern._utils.files import write_json
from adakern._utils.wording import count
from adakern_bench.base.paths import AGAIN, SCRIPTS
from adakern_bench.records.job import job

params = snakemake.params
(mark,) = snakemake.output


class Named(dict):
    """Files or parameters that are also accessible as attributes."""

    __getattr__ = dict.__getitem__


def run_step(step, further):
    """Run the script of a rule."""
    for path in (*step["output"].values(), *step["log"]):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    given = {name: Named(step[name]) for name in ("wildcards", "input", "output")}
    given["params"] = Named(step["params"] | further)
    inner = SimpleNamespace(rule=step["rule"], log=step["log"], **given)
    runpy.run_path(str(SCRIPTS / f"{step['rule']}.py"), {"snakemake": inner})


def mark_again():
    """If the group is marked to be computed again, mark each of its searches
    and fits.
    """
    asked = Path(mark).with_suffix(AGAIN)
    for step in params.steps if asked.exists() else ():
        if step["rule"] in ("search", "solve"):
            (path,) = map(Path, step["output"].values())
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(AGAIN).touch()
    asked.unlink(missing_ok=True)


with job(snakemake):
    mark_again()
    limits = {"limits": params.get("limits")}
    asides = params.get("aside") or [{"params": {}}] * len(params.steps)
    made = []
    failed = {}
    for step, aside in zip(params.steps, asides, strict=True):
        dataset = step["wildcards"]["dataset"]
        if dataset in failed:
            continue
        try:
            run_step(step, limits | aside["params"])
        except Exception as error:
            traceback.print_exc()
            failed[dataset] = f"{dataset}: {type(error).__name__}: {error}"
        made += [step["output"].get("table"), step["output"].get("record")]
    if failed:
        told = "\n".join(failed.values())
        n_failed = count(len(failed), "data set")
        raise RuntimeError(f"{n_failed} failed; the others are kept:\n{told}")
    write_json(mark, list(filter(None, made)))
