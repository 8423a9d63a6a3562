"""What an experiment did to its data and how often, in words for its report."""

from adakern_bench.report.tables import RULE
from adakern_bench.report.wording import ordinal

__all__ = ["protocol_in_words"]

#: On which rows hyper-parameters are chosen with ``protocol.tuning=published``.
PUBLISHED_TUNING = (
    "on the published tuning split: fitted on one half of all rows and scored on the "
    "other, the test rows of every split among them (as in Fernandez-Delgado et al., "
    "JMLR 2014; the test labels leak into the choice)"
)


def protocol_in_words(config):
    """What was done to the data and how often, as sentences."""
    protocol, search = config["protocol"], config.get("search", {})
    words = [*_splits_in_words(protocol), _scaling_in_words(protocol)]
    if protocol.get("scale_target", "none") != "none":
        words.append(
            "Regression targets are standardised on the training part for the fit; "
            "scores are in the units of the target."
        )
    clipped = [
        f"{name} ({entry['clip'][0]:g} and {entry['clip'][1]:g})"
        for name, entry in config.get("dataset", {}).items()
        if entry.get("clip")
    ]
    if protocol.get("clip") and clipped:
        words.append("Features are first clipped at percentiles for " + ", ".join(clipped) + ".")
    if search.get("folds"):
        words.append(_tuning_in_words(protocol, search))
    words.append(
        "All methods see the same splits. Tests are two-sided, over the repeats that "
        f"both methods finished; significant is what is so by {RULE}."
    )
    return words


def _splits_in_words(protocol):
    """Where the test rows come from, and how many rows are kept of both parts."""
    published = protocol.get("published_split", "never")
    if published == "require":
        yield "Every data set uses its published splits."
    else:
        yield _drawn_in_words(protocol)
    if published == "prefer":
        yield "A data set with published splits uses those instead."
    if published != "never" and protocol.get("max_splits"):
        yield f"Of several published splits the first {protocol['max_splits']} are run."
    if protocol.get("train_rows"):
        sizes = ", ".join(f"{n:,}" for n in protocol["train_rows"])
        yield (
            f"Of the training part, {sizes} rows are drawn at random, the larger "
            "number holding the smaller."
        )
    if protocol.get("max_train_rows"):
        yield f"At most {protocol['max_train_rows']:,} training rows, drawn at random, are taken."
    if protocol.get("test_rows"):
        yield f"At most {protocol['test_rows']:,} test rows, drawn at random, count."


def _drawn_in_words(protocol):
    share = f"{100 * protocol.get('test_size', 0):g} %"
    repeats = protocol.get("repeats")
    kind = protocol.get("kind", "holdout")
    stratified = ", with the class proportions kept" if protocol.get("stratify") else ""
    return {
        "holdout": f"Repeated holdout: {repeats} times, {share} of the rows at random "
        f"are the test part{stratified}.",
        "kfold": f"{protocol.get('n_splits')}-fold cross-validation, repeated "
        f"{repeats} times with another shuffling; every fold is one run.",
        "group-holdout": f"Repeated holdout by group: {repeats} times, all rows of "
        f"{share} of the groups are the test part, so that no group is in both parts.",
        "time": f"Forward in time: {repeats} blocks of rows, one after the other, are "
        "the test part, and all rows before a block its training part.",
    }[kind]


def _tuning_in_words(protocol, search):
    """How hyper-parameters were found, and on which rows."""
    rows = search.get("max_rows")
    part = f"{rows:,} rows (where there are more) of " if rows else ""
    nested = f"by {_folds_in_words(search)} on {part}the training part alone"
    where = {
        "nested": nested,
        "published": PUBLISHED_TUNING,
        "both": f"twice: {nested}, and {PUBLISHED_TUNING}",
    }[protocol.get("tuning", "nested")]
    step = search.get("step", 1)
    thinned = ""
    if step > 1:
        thinned = f", every {ordinal(step)} point of each axis of numbers kept"
    return (
        "Hyper-parameters: grid search, or random search where a method's entry says "
        f"so, {where}{thinned}; where a method takes over another's parameters, the "
        "configuration says so."
    )


def _folds_in_words(search):
    one_part = "one 20 % validation part"
    if search["folds"] == 1:
        return one_part
    words = f"{search['folds']}-fold cross-validation"
    if search.get("holdout_rows"):
        words += f" ({one_part} above {search['holdout_rows']:,} rows)"
    return words


def _scaling_in_words(protocol):
    target = {
        "unit": "to [0, 1]",
        "symmetric": "to [-1, 1]",
        "standard": "to mean 0 and variance 1",
    }.get(protocol.get("scale", "none"))
    if target is None:
        return "Features are used as they are, without scaling."
    if protocol.get("scale_fit", "train") == "train":
        return f"Features are scaled {target}, fitted on the training part."
    return (
        f"Features are scaled {target}, fitted on all rows, the test part included "
        "(as in Liu et al., AAAI 2018; the test features leak into the scaling)."
    )
