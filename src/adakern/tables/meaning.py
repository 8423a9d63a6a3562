"""Inference of the task, of identifiers, and of columns that are not features."""

import math
import re

import numpy as np

from adakern._utils.printable import shortened
from adakern._utils.wording import count, listed
from adakern.tables.cells import plain_spelling
from adakern.tables.kinds import FEWEST_WORDS
from adakern.tables.unpack import TableError

#: Maximum number of distinct integers that are interpreted as classes.
_MOST_CLASSES = 10
#: Above this number of categories, most of which are rare, a column identifies rows.
_MOST_CATEGORIES = 50
#: An identifier with fewer distinct values is categorical.
_FEWEST_GROUPS = 10
_WHO = (
    "patient|subject|person|participant|respondent|individual"
    "|household|customer|player|user"
)
_IDENTIFIER = re.compile(
    rf"(.*[\W_])?(?i:ids?|index|key|uuid|row|nr)|(?i:{_WHO})|.*[a-z](Id|ID|Nr)"
)
#: Names of columns that identify rows if their values are all different.
_EVENT = re.compile(
    r"(?i)encounter|admission|booking|invoice|receipt|ticket|transaction"
    r"|.*[\W_](no\.?|number)|.*(nr\.?|nummer)"
)
#: Names of columns that number the rows.
_COUNTS = re.compile(r"(?i:#|no\.?|n|num|number|obs|observation|rownames?|zeile)")
_TIME = re.compile(r"(?i)(.*[\W_])?(year|yr|date|time|month|quarter|week|day|period)")
#: Names of columns that order the rows of one time, and never identify panel units.
_WITHIN = re.compile(r"(?i)(.*[\W_])?(hour|hr|minute|stunde|rank|position|place|slot)")
#: Numbers that often mean that there is no value: sevens, eights or nines.
_CODES = [
    int(sign + n * digit) for n in range(1, 11) for digit in "789" for sign in "+-"
]
#: Minimum number of repetitions within times that chance would cause, for a column
#: without any to identify panel units.
_FEWEST_REPEATS = 10


def is_whole(values):
    """Whether all values are integers."""
    return bool((values == np.rint(values)).all())


def resolve_task(y, kind, task, notes):
    """Return the task of a target, inferred if it is not given."""
    if kind == "date":
        raise TableError(
            f"the target {y.name!r} has dates, which are not supported; use a number, "
            "such as the days since a start."
        )
    if task == "regression" and kind != "numeric":
        raise TableError(
            f"the target {y.name!r} has categories such as {y.iloc[0]!r}, which "
            "regression does not support; omit --task."
        )
    n_kinds = y.nunique()
    if n_kinds < 2:
        raise TableError(f"the target {y.name!r} is the same in every row.")
    if kind == "categorical" and n_kinds > max(2, len(y) // 2):
        raise TableError(
            f"the target {y.name!r} has {n_kinds} different categories in {len(y)} "
            f"rows, such as {y.iloc[0]!r}: too few rows per class. Numbers must be "
            "written without units and with a single decimal mark."
        )
    if task or kind == "categorical" or n_kinds == 2:
        return task or "classification"
    if is_whole(y) and n_kinds <= _MOST_CLASSES and n_kinds <= len(y) / 5:
        notes.append(
            f"the {n_kinds} whole numbers of {y.name!r} are taken as classes "
            "(--task regression if they are amounts)"
        )
        return "classification"
    return "regression"


def repeated_identifier(frame, kinds, others, notes):
    """Return an identifier with repeated values, whose rows no split may separate."""
    sizes = {
        name: frame[name].nunique()
        for name in frame.columns
        if name not in others
        and _IDENTIFIER.fullmatch(name)
        and not re.search(r"(?i)(index|key|row)$", name)
        and kinds[name] != "date"
        and not frame[name].isna().any()
        and (kinds[name] != "numeric" or is_whole(frame[name]))
    }
    sizes = {name: n for name, n in sizes.items() if _FEWEST_GROUPS <= n < len(frame)}
    if not sizes:
        return None
    # A patient has several visits: use the coarser identifier.
    name = min(sizes, key=sizes.get)
    notes.append(
        f"groups: {name!r} has {sizes[name]} values in {len(frame)} rows; rows that "
        "share one are kept together (--group none if rows are independent)"
    )
    return name


def why_no_feature(values, kind, position, n_different):
    """Return the reason why a column is not a feature, or "" if it is one.

    An identifier has as many values as the table has different rows.
    """
    n, values, name = len(values), values.dropna(), values.name
    n_kinds = values.nunique()
    nameless = name.startswith("Unnamed: ")
    identifies = nameless or _IDENTIFIER.fullmatch(name) or _EVENT.fullmatch(name)
    counts = identifies or (position == 0 and _COUNTS.fullmatch(name))
    if n_kinds == 0:
        return "empty in every row"
    if n_kinds == 1:
        some = f"{count(len(values), 'row')}, and nothing in others"
        return f"'{values.iloc[0]}' in {'every row' if len(values) == n else some}"
    if kind == "numeric" and is_whole(values):
        if (values.diff().dropna() == 1).all() and len(values) == n:
            return "it numbers the rows" if counts else ""
        return "an identifier, another in every row" * bool(
            n_kinds == n_different and identifies
        )
    if kind == "categorical":
        if n_kinds > _MOST_CATEGORIES and n_kinds > 0.5 * len(values):
            words = values.str.split().str.len().mean()
            what = "an identifier"
            if words >= FEWEST_WORDS:
                what = "free text, which only adakern fit uses, if its type is text"
            return f"{what}, {n_kinds} different values"
        return "an identifier, another in every row" * (n_kinds == n_different > 20)
    return ""


def _alike(categories):
    """Return lists of categories that differ only in case, blanks and accents."""
    spellings: dict[str, list[str]] = {}
    for category in categories:
        spellings.setdefault(plain_spelling(category), []).append(category)
    return [alike for alike in spellings.values() if len(alike) > 1]


def about(X, kinds, time):
    """Yield notes about categories, missing values, and possible time columns."""
    for name, kind in kinds.items():
        if kind == "categorical":
            known = X[name].dropna().unique()
            shown = listed([" ".join(category.split()) for category in known])
            yield f"categories: {name!r} has {len(known)} ({shown})"
            if texts := _alike(known):
                pairs = listed([" and ".join(map(shortened, some)) for some in texts])
                yield (
                    f"spellings: {pairs} of {name!r} differ in case, blanks or accents "
                    "alone, and are different categories "
                    f"(--merge {name!r} merges them)"
                )
    if texts := [name for name, kind in kinds.items() if kind == "text"]:
        yield f"text: {', '.join(map(repr, texts))}, read as character n-grams"
    if n_missing := X.isna().sum().sum():
        yield (
            f"missing values: {n_missing} in {count(X.isna().any(axis=1).sum(), 'row')}"
        )
    for name in (name for name, kind in kinds.items() if kind == "numeric"):
        yield from _about_codes(X[name])
    times = [
        name
        for name, kind in kinds.items()
        if kind == "date"
        or (kind == "numeric" and _TIME.fullmatch(name) and is_whole(X[name].dropna()))
    ]
    if time or not times:
        return
    yield (
        f"time: with --time {times[0]!r}, test rows would be later than training rows, "
        "as in forecasting"
    )
    for name in X.columns.difference(times, sort=False):
        if _is_followed(X[name], X[times[0]], kinds[name]):
            yield (
                f"panel: {name!r} has {X[name].nunique()} values, each once at a time; "
                f"with --group {name!r}, test rows would have values not in training"
            )
            return


def _about_codes(values):
    """Yield a note about repeated numbers such as -9 or 99 that are far from others."""
    values = values.astype(float)  # eight bits are too few for sums
    counts = values[values.isin(_CODES)].value_counts()
    suspects = counts.index[counts > 1]
    others = values[~values.isin(suspects)].dropna()
    if not len(suspects) or others.nunique() < 2:
        return
    low = others.min()
    high = others.max()
    span = high - low
    codes = [
        v for v in suspects if v < min(0, low) or abs(2 * v - low - high) > 3 * span
    ]
    if codes:
        shown = " and ".join(f"{code:g}" for code in codes)
        yield (
            f"codes: {shown} in {count(values.isin(codes).sum(), 'row')} of "
            f"{values.name!r} may stand for missing values; if so, leave them empty"
        )


def _is_followed(values, times, kind):
    """Whether each value occurs at most once per time, as those of panel units do.

    This is False if it can be due to chance, as for measurements with many values.
    """
    if kind not in ("categorical", "numeric") or _WITHIN.fullmatch(values.name):
        return False
    if kind == "numeric" and not is_whole(values.dropna()):
        return False
    if not 5 <= values.nunique() <= len(values) / 3:
        return False
    repeats = _n_pairs(values) * _n_pairs(times) / math.comb(len(values), 2)
    if repeats < _FEWEST_REPEATS:
        return False
    return not values.to_frame("unit").assign(time=times).duplicated().any()


def _n_pairs(values):
    """Number of pairs of rows with the same value."""
    counts = values.value_counts()
    return float((counts * (counts - 1)).sum() / 2)
