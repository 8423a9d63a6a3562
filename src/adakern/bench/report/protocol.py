"""What an experiment did to its data and how often, in words for its report."""

from adakern.bench.report.wording import ordinal

__all__ = ["protocol_in_words"]


def protocol_in_words(config):
    """What was done to the data and how often, as sentences.

    Parameters
    ----------
    config : mapping
        The configuration.
    """
    protocol, search = config["protocol"], config.get("search", {})
    share = f"{100 * protocol.get('test_size', 0):g} %"
    repeats = protocol.get("repeats")
    kind = protocol.get("kind", "holdout")
    sentences = {
        "holdout": f"Repeated holdout: {repeats} times, {share} of the rows at random "
        "are the test part"
        + (", with the class proportions kept." if protocol.get("stratify") else "."),
        "kfold": f"{protocol.get('n_splits')}-fold cross-validation, repeated "
        f"{repeats} times with another shuffling; every fold is one solve.",
        "group-holdout": f"Repeated holdout by group: {repeats} times, all rows of "
        f"{share} of the groups are the test part, so that no group is in both parts.",
    }
    words = [sentences.get(kind, kind)]
    published = protocol.get("published_split", "never")
    if published == "prefer":
        words.append("A data set with a published split uses that one, once.")
    elif published == "require":
        words.append("Every data set uses its published split.")
    words += [_scaling_in_words(protocol)]
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
        words.append(
            "Features are first clipped at percentiles for " + ", ".join(clipped) + "."
        )
    if search.get("folds"):
        thinned = (
            f", every {ordinal(search['step'])} point of each axis of numbers kept"
            if search.get("step", 1) > 1
            else ""
        )
        part = (
            f"{search['max_rows']:,} rows (where there are more) of the training part"
            if search.get("max_rows")
            else "the training part"
        )
        words.append(
            f"Hyper-parameters: grid search by {_search_in_words(search)} "
            f"on {part} alone{thinned}; where a method takes over another's "
            "parameters, the configuration says so."
        )
    words.append(
        "All methods see the same splits. Tests are two-sided, at the 5 % level, over "
        "the repeats that both methods finished."
    )
    return words


def _search_in_words(search):
    one_part = "one 20 % validation part"
    if search["folds"] == 1:
        return one_part
    words = f"{search['folds']}-fold cross-validation"
    if search.get("holdout_rows"):
        words += f" ({one_part} above {search['holdout_rows']} rows)"
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
