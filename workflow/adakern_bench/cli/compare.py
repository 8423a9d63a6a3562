"""``adakern compare``: a table of one's own becomes a data set of the workflow."""

import re
import shutil
from pathlib import Path

from adakern_bench.config.compose import ConfigError
from adakern_bench.data.infer import as_yaml, infer_entry

__all__ = ["adopt"]


def adopt(file, target, root, *, task=None, name=None, drop=(), again=False):
    """Add a file to the data sets, and say what was found in it.

    Parameters
    ----------
    file : path-like
    target, task, drop
        See :func:`adakern_bench.data.infer.infer_entry`.
    root : Path
        The repository: the entry becomes ``conf/dataset/my-<name>.yaml`` there, the
        file is copied below ``data/raw``. Both are ignored by git.
    name : str, default=None
        Of the data set, behind ``my-``; that of the file where None.
    again : bool, default=False
        Look at the file anew where there is an entry already.

    Returns
    -------
    list of str
        The overrides that compare methods on it.
    """
    file = Path(file).expanduser()
    if not file.is_file():
        raise ConfigError(f"there is no file {file}")
    stem = re.sub(r"[^a-z0-9]+", "-", (name or file.name.split(".")[0]).lower())
    name = f"my-{stem.strip('-') or 'table'}"
    path = root / "conf" / "dataset" / f"{name}.yaml"
    raw = f"{name}/{file.name}"
    if path.exists() and not again and raw in path.read_text(encoding="utf-8"):
        print(f"Going by {path.relative_to(root)}, made earlier (--again: look anew)")
        _check_target(path, target)
    else:
        inferred = infer_entry(file, target, task=task, drop=drop)
        path.write_text(as_yaml(name, inferred, raw), encoding="utf-8")
        print(f"{file.name}: {inferred.notes[0]}")
        for note in inferred.notes[1:]:
            print(f"  {note}")
        print(
            f"Written to {path.relative_to(root)}: edit what is wrong and run it again."
        )
    copy = root / "data" / "raw" / raw
    if not copy.exists() or copy.read_bytes() != file.read_bytes():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    return ["experiment=compare", f"name={name}", f"dataset=[{name}]"]


def _check_target(path, target):
    match = re.search(r"^target: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if match and match[1].strip("'\"") != str(target):
        raise ConfigError(
            f"{path.name} predicts {match[1]}, the command line says {target}: give "
            "another --name, or --again to look at the file anew"
        )
