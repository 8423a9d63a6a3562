"""Composition by Hydra: YAML files in ``conf/`` and overrides to a typed ``Config``."""

import re
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import GrammarParseError, OmegaConfBaseException
from yaml import CollectionNode, YAMLError

from adakern._utils.hints import did_you_mean
from adakern._utils.printable import shortened
from adakern_bench.base.dotted import use_own_resolvers
from adakern_bench.base.paths import CONF
from adakern_bench.config import openml, schema
from adakern_bench.config.references import n_referenced
from adakern_bench.config.suite import expand_suite, suite_sets

GROUPS = ("suite", "dataset", "method", "protocol", "experiment", "tracking")

#: Maximum number of values in a file after its aliases are expanded, of values to which
#: all references expand, and of values of ``${powers:...}``.
MOST_VALUES = 100_000
MOST_POWERS = 200

#: Override that fixes a parameter for both tasks, such as ``method.dank.eta=0.5``.
_OF_A_METHOD = "|".join(field.name for field in fields(schema.Method))
PARAMETER = re.compile(rf"\+*method\.([^.=]+)\.(?!(?:{_OF_A_METHOD})=)(\w+)=")


class ConfigError(ValueError):
    """The configuration cannot run; the message says what to change."""


def nearest(name, names):
    """Return a sentence that suggests the closest known name, and lists all names if
    there are few or none is close.
    """
    hint = did_you_mean(name, names)
    return (
        hint + f" Known: {', '.join(names)}." * (len(names) <= 10 or not hint)
    ).lstrip()


def available(group, conf=CONF):
    """Names of the YAML files of a configuration group, sorted."""
    return sorted(path.stem for path in (Path(conf) / group).glob("*.yaml"))


def load_config(overrides=(), conf=CONF):
    """Return the configuration of an experiment, composed by Hydra and checked."""
    try:
        composed = _compose([_checked(override) for override in overrides], conf)
        _check_references(composed)
        OmegaConf.set_struct(composed, False)
        _fix_parameters(composed, overrides)
        config = _typed(schema.Config, composed)
        config.compared = list(config.method)
        _add_tuners(config, conf)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_explain(error, conf)) from None
    if config.suite is not None and not (config.suite.openml or config.suite.tables):
        config.dataset |= _suite_entries(config.suite, Path(conf) / "suite")
    return config


def _checked(override):
    """Return an override for Hydra, with which no key needs a `+`; types are checked
    later.
    """
    key, equals, value = override.partition("=")
    if not key or not (equals or key.startswith("~")):
        raise ConfigError(
            f"the override {override!r} must have the form key=value, such as "
            "protocol.repeats=3"
        )
    if key in GROUPS and value == "null":
        raise ConfigError(
            f"{override} selects nothing valid; {key}=[] selects none, {key}=[name] one"
        )
    if value[:1] not in ("'", '"') and value.count("[") > value.count("]"):
        raise ConfigError(
            f"the override {override!r} has an unclosed list; write lists without "
            "blanks after commas: dataset=[a,b]"
        )
    if re.match(r"[+~]*hydra\b", key):
        raise ConfigError(
            f"the override {override!r} is for Hydra itself, whose settings cannot be "
            "changed here"
        )
    if key in GROUPS and re.fullmatch(r"[\d.]+", value):
        raise ConfigError(
            f"the override {override!r} selects a number; expected names of files in "
            f"conf/{key}"
        )
    return _readable(override if key in GROUPS or key[0] in "+~" else f"++{override}")


def _readable(override):
    """Return an override in Hydra's grammar, with text quoted that Hydra would
    misread.
    """
    try:
        if not OverridesParser.create().parse_override(override).is_sweep_override():
            return override
    except (HydraException, ValueError):  # or a number of more than 4,300 digits
        pass
    key, _, value = override.partition("=")
    said = override.lstrip("+")
    if key.lstrip("+~") in GROUPS or value[:1] in tuple("'\"[{") or "\n" in value:
        raise ConfigError(
            f"the override {said!r} cannot be parsed: write a list as [a,b] and a "
            "mapping as {a: 1}, close all brackets and quotation marks, and quote "
            "words with characters other than a to z, digits and ._-/, such as "
            "['Größe',b]"
        )
    quoted = re.sub(r"(\\+)$", r"\1\1", re.sub(r"(\\*)'", r"\1\1\\'", value))
    return f"{key}='{quoted}'"


def _compose(overrides, conf):
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(Path(conf).resolve()), version_base="1.3"):
        use_own_resolvers(powers=_powers, sigmas=_sigmas)  # and not Hydra's
        repository = vars(GlobalHydra.instance().config_loader())["repository"]
        load = repository.load_config
        repository.load_config = partial(_load_file, load, conf)
        return compose("config", overrides)


def _check_file(path, conf):
    """Raise a ConfigError if a file is a symbolic link out of the configuration's
    folder, or if its aliases expand to too many values.
    """
    if not path.resolve().is_relative_to(Path(conf).resolve()):
        raise ConfigError(
            f"{path} is a symbolic link out of {conf}; replace it by a copy of its "
            "target"
        )
    text = path.read_bytes() if path.is_file() else b""
    if b"&" in text and b"*" in text and _unfolded(text) > MOST_VALUES:
        raise ConfigError(
            f"{path.name}: its aliases (*name) expand to more than {MOST_VALUES:,} "
            "values; write out the values instead"
        )


def _unfolded(text):
    """Number of values of a YAML file after its aliases are expanded."""
    sizes: dict[int, int] = {}

    def size(node):
        if isinstance(node, tuple):  # key and value of a mapping
            return sum(map(size, node))
        if id(node) not in sizes:
            sizes[id(node)] = MOST_VALUES  # size of an alias inside its own anchor
            parts = node.value if isinstance(node, CollectionNode) else ()
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    return size(yaml.compose(text, yaml.CSafeLoader))


def _load_file(load, conf, config_path):
    """Load a file of the configuration's folder; a data set or method is placed under
    its name.
    """
    if ".." in Path(config_path).parts:
        raise ConfigError(
            f"{config_path}: the files listed in defaults must be inside conf/"
        )
    name = config_path.removesuffix(".yaml")
    try:
        _check_file(Path(conf, f"{name}.yaml"), conf)
        file = load(config_path) or _file_of_openml(*name.split("/"))
    except GrammarParseError as error:
        raise ConfigError(f"{config_path}.yaml: {_in_one_line(error)}") from None
    except RecursionError:
        raise ConfigError(f"{config_path}.yaml is nested too deeply") from None
    except ConfigError:
        raise
    except (YAMLError, ValueError) as error:
        raise ConfigError(
            f"{config_path}.yaml is not valid YAML in UTF-8: {error}"
        ) from None
    group, _, name = config_path.partition("/")
    if group in ("dataset", "method") and file is not None:
        file.header["package"] = f"{group}.{name}"
    return file


def _file_of_openml(group, name="", *_):
    """Content of the implicit file of a name such as openml-31; None for others."""
    if (said := openml.short_form(group, name)) is None:
        return None
    content = OmegaConf.create(said)
    header = {"package": group}
    return ConfigResult("openml", name, content, header, defaults_list=[])


def _check_references(composed):
    """Raise a ConfigError if references expand to too many values."""
    try:
        n = n_referenced(OmegaConf.to_container(composed, resolve=False))
    except RecursionError:
        raise ConfigError("its references are nested too deeply") from None
    except ValueError as error:
        raise ConfigError(_in_one_line(error)) from None
    if n > MOST_VALUES:
        raise ConfigError(
            f"its references, such as ${{name}}, expand to more than {MOST_VALUES:,} "
            "values; write out the values instead"
        )


def _powers(base, first, last, step=1):
    """Return base^first, ..., base^last, both included; a negative step descends."""
    exponents = range(first, last + (1 if step > 0 else -1), step)
    if exponents[MOST_POWERS:]:
        raise ValueError(f"these are more than {MOST_POWERS} powers")
    return [float(base) ** k for k in exponents]


def _sigmas(base, low, high, step=1):
    """Return gamma = 1 / (2 sigma^2) for sigma = base^low, ..., base^high."""
    return [1 / (2 * sigma**2) for sigma in _powers(base, low, high, step)]


def _fix_parameters(composed, overrides):
    """Move the parameters given as ``method.<name>.<parameter>=`` into the recipes of
    the method.
    """
    found = dict.fromkeys(m.groups() for m in map(PARAMETER.match, overrides) if m)
    for name, parameter in found:
        method = composed.method[name]
        value = method.pop(parameter)
        if not method:
            del composed.method[name]
            raise ConfigError(
                f"method.{name}.{parameter}: the method {name!r} is not selected. "
                f"{nearest(name, list(composed.method))}"
            )
        for task in ("classifier", "regressor"):
            if recipe := method.get(task):
                recipe.estimator[parameter] = value
                recipe.get("grid", {}).pop(parameter, None)


def as_typed(hint, value, where=""):
    """Return a value of plain Python as the type of the setting at `where`.

    OmegaConf converts numbers, truth values and text, or raises an error.
    """
    if isinstance(hint, UnionType):  # an optional type
        if value is None:
            return None
        hint = get_args(hint)[0]
    if hint is Any or type(value) is hint:
        return value
    kind = get_origin(hint) or hint
    if kind in (bool, int, float, str) and value is not None:
        return DictConfig({where: value}, element_type=kind)[where]
    is_mapping = kind is dict or is_dataclass(kind)
    if not isinstance(value, dict if is_mapping else kind):
        expected = "a mapping" if is_mapping else kind.__name__
        raise ConfigError(f"{where} is {shortened(value)}; expected {expected}")
    if kind is list:
        (item,) = get_args(hint)
        return [as_typed(item, v, f"{where}[{k}]") for k, v in enumerate(value)]
    keys, item = get_args(hint) or (str, None)
    hints = dict.fromkeys(value, item) if kind is dict else _hints(kind)
    typed = {}
    for key, inner in value.items():
        place = f"{where}.{key}".lstrip(".")
        if key not in hints:
            known = nearest(key, list(hints))
            raise ConfigError(f"{key!r} is not a setting (at {place}). {known}")
        typed[as_typed(keys, key, where)] = as_typed(hints[key], inner, place)
    return typed if kind is dict else kind(**typed)


_hints = cache(get_type_hints)


def _typed(of_type, node, where=""):
    content = OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
    return as_typed(of_type, content, where)


def _add_tuners(config, conf):
    """Add the methods that others are tuned with, and their own."""
    tuners = set().union(*(method.tuners for method in config.method.values()))
    missing = sorted(tuners - config.method.keys())
    for name in missing:
        if name not in available("method", conf):
            raise ConfigError(_unknown("method", name, conf))
        path = Path(conf) / "method" / f"{name}.yaml"
        _check_file(path, conf)
        method = OmegaConf.load(path)
        _check_references(method)
        config.method[name] = _typed(schema.Method, method, f"method.{name}")
    if missing:
        _add_tuners(config, conf)


def _suite_entries(suite, folder):
    if Path(suite.sets).name != suite.sets or not (folder / suite.sets).is_file():
        raise ConfigError(
            f"suite.sets={suite.sets!r} must be the name of a file in {folder}"
        )
    _check_file(folder / suite.sets, folder.parent)
    try:
        sets = suite_sets(suite, folder)
        entries = expand_suite(suite, sets)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        told = f"{type(error).__name__}: {error}"
        raise ConfigError(
            f"{suite.sets} does not describe the sets of a suite ({told}): it needs "
            "the column set, whole numbers in the columns of settings, the column n if "
            "min_rows or max_rows is set, and the suite's entry must have files"
        ) from None
    for name in suite.only:
        if name not in sets:
            told = f"suite.only: {suite.name} has no set {name!r}."
            raise ConfigError(f"{told} {nearest(name, sets)}")
    return entries


def _unknown(group, name, conf):
    return (
        f"{group} {name!r} is unknown: there is no conf/{group}/{name}.yaml. "
        f"{nearest(name, available(group, conf))}"
    )


def _explain(error, conf):
    """Turn an error of Hydra or OmegaConf into one line that suggests the closest valid
    name.
    """
    text = str(error)
    if match := re.search(r"Could not (?:load|find) '(\w+)/([^']+)'", text):
        return _unknown(match[1], match[2], conf)
    told = _in_one_line(error)
    if isinstance(error, HydraException) and (
        cause := error.__cause__ or error.__context__
    ):
        told += f": {_in_one_line(cause)}"
    return told


def _in_one_line(error):
    text = str(error).removeprefix("ValueError raised while resolving interpolation: ")
    hint = ". ${name} refers to a setting; for the literal characters write \\${"
    return text.partition("\n")[0] + _where(text) + hint * ("${" in text)


def _where(text):
    match = re.search(r"full_key: (\S+)", text)
    return f" (at {match[1]})" if match else ""
