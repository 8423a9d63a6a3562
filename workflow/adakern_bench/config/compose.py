"""Hydra: from the YAML files in ``conf/`` and overrides to one checked ``Config``."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import GrammarParseError, OmegaConfBaseException

from adakern._utils.hints import did_you_mean
from adakern_bench.config import schema
from adakern_bench.config.schema import Config, Method, View
from adakern_bench.data.suite import expand_suite, suite_sets
from adakern_bench.paths import CONF
from adakern_bench.records.dotted import use_own_resolvers

__all__ = ["ConfigError", "available", "load_config", "nearest"]

ESCAPE = "${name} stands for a setting; for the characters themselves write \\${"
GROUPS = ("suite", "dataset", "method", "protocol", "experiment", "tracking")


class ConfigError(ValueError):
    """A configuration that cannot run; the message says what to change."""


def _powers(base, first, last, step=1):
    """base^first, ..., base^last, both included; downwards with a negative step."""
    end = last + (1 if step > 0 else -1)
    return [float(base) ** k for k in range(first, end, step)]


def _sigmas(base, low, high, step=1):
    """Values of gamma = 1 / (2 sigma^2) for sigma = base^low .. base^high."""
    return [1 / (2 * sigma**2) for sigma in _powers(base, low, high, step)]


def available(group, conf=CONF):
    """Names of the YAML files of a configuration group, sorted."""
    return sorted(path.stem for path in (Path(conf) / group).glob("*.yaml"))


def load_config(overrides=(), conf=CONF):
    """Compose one experiment."""
    ConfigStore.instance().store("schema", Config)
    overrides = list(overrides)
    config = _compose(overrides, conf)
    selected = {"dataset": list(config.dataset), "method": list(config.method)}
    while missing := _missing_tuners(config):
        for name in missing:
            _check_name("method", name, conf, asked_by="tune_with")
        every = ",".join([*config.method, *missing])
        others = [o for o in overrides if not o.startswith("method=")]
        overrides = [*others, f"method=[{every}]"]
        config = _compose(overrides, conf)
    if config.suite is not None:
        entries = _suite_entries(config.suite, conf)
        config.dataset |= entries
        selected["dataset"] += list(entries)
    return config, selected


def _suite_entries(suite, conf):
    try:
        if Path(suite.sets).name != suite.sets:
            raise OSError("it is the name of a file beside the suite's own")
        entries = expand_suite(suite, Path(conf) / "suite")
    except KeyError as error:
        (name,) = error.args
        raise ConfigError(
            f"suite.only: {suite.name} has no set {name!r}. "
            f"{nearest(name, list(suite_sets(suite, Path(conf) / 'suite')))}"
        ) from None
    except OSError as error:
        raise ConfigError(f"suite.sets={suite.sets!r}: {error}") from None
    if not entries:
        raise ConfigError(
            f"suite {suite.name} has no set of {suite.min_rows or 0} to "
            f"{suite.max_rows} rows; widen suite.min_rows and suite.max_rows"
        )
    return entries


def _missing_tuners(config):
    """Methods that others are tuned with and that the configuration does not hold."""
    recipes = [r for m in config.method.values() for r in (m.classifier, m.regressor)]
    tuners = {r.tune_with for r in recipes if r is not None} - {"self"}
    return sorted(tuners - set(config.method))


def _compose(overrides, conf):
    for override in overrides:
        _check_selection(override, conf)
    shorthand = [o for o in overrides if _SHORTHAND.match(o)]
    overrides = [o for o in overrides if o not in shorthand]
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(Path(conf).resolve()), version_base="1.3"):
            use_own_resolvers(powers=_powers, sigmas=_sigmas)  # and none of Hydra's
            loader = GlobalHydra.instance().config_loader()
            _read_only_here(vars(loader)["repository"])
            config = OmegaConf.to_object(compose("config", overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(_explain(error, conf)) from None
    for path, key, owner in _strangers(config):
        raise ConfigError(f"{key!r} is not a setting (at {path}). {_siblings(key, owner)}")
    for group in ("dataset", "method"):
        _check_packages(group, getattr(config, group), conf)
    for override in shorthand:
        _apply(override, config)
    for kind in ("figures", "tables"):
        views = getattr(config, kind).items()
        made = {name: _view(f"{kind}.{name}", view) for name, view in views}
        setattr(config, kind, made)
    return config


def _read_only_here(repository):
    """A list of defaults names files of the configuration's folder, and no others."""
    load = repository.load_config

    def load_inside(config_path):
        if ".." in Path(config_path).parts:
            raise ConfigError(f"{config_path}: a list of defaults stays inside conf/")
        try:
            return load(config_path)
        except GrammarParseError as error:
            what = str(error).partition("\n")[0] + _where(str(error))
            raise ConfigError(f"{config_path}.yaml: {what}. {ESCAPE}") from None

    repository.load_config = load_inside


#: Short for what the tree of settings holds deeper: ``method.dank.eta=0.5`` fixes a
#: parameter for both tasks, ``sweep.dank.eta=[0.1,1]`` sweeps it; neither is known to
#: Hydra, since a method's parameters are free.
_SHORTHAND = re.compile(
    r"\+{0,2}(sweep(\.[\w-]+\.\w+)?|method\.[\w-]+\.(?!"
    + "|".join(f"{field.name}=" for field in fields(Method))
    + r")\w+)="
)


def _apply(override, config):
    parsed = OverridesParser.create().parse_override(override)
    (group, *where), value = parsed.key_or_group.split("."), parsed.value()
    if not where:
        if not isinstance(value, dict):
            raise ConfigError(f"{override}: a sweep maps methods to axes: sweep={{}}")
        config.sweep = value
        return
    name, parameter = where
    if name not in config.method:
        raise ConfigError(
            f"the override {override!r} is of a method that is not selected. "
            f"{nearest(name, config.method)}"
        )
    if group == "sweep":
        config.sweep.setdefault(name, {})[parameter] = value
        return
    method = config.method[name]
    for recipe in filter(None, (method.classifier, method.regressor)):
        recipe.estimator[parameter] = value
        recipe.grid.pop(parameter, None)


def _view(where, stated):
    """A figure or table; Hydra adds none to typed ones, so the type is checked here."""
    stated = stated if isinstance(stated, dict) else {"function": stated}
    for key in stated.keys() - {field.name for field in fields(View)}:
        raise ConfigError(f"{key!r} is not a setting (at {where}.{key}). {_siblings(key, View)}")
    view = View(**stated)
    if not isinstance(view.function, str) or not isinstance(view.params, dict):
        raise ConfigError(
            f"{where} is {stated}: its function is a dotted name and its params a "
            f"mapping, such as +{where}.function=adakern_bench.report.sweep.plot_sweep "
            f"+{where}.params.x=tau"
        )
    return view


def _strangers(node, where=""):
    """What `+` before an override lets in: keys that are not of the schema."""
    if is_dataclass(node):
        known = {field.name for field in fields(node)}
        for key in vars(node).keys() - known:
            yield f"{where}{key}", key, type(node)
        node = {key: getattr(node, key) for key in known}
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _strangers(value, f"{where}{key}.")


def _check_selection(override, conf):
    """Check the names that an override such as ``dataset=[a,b]`` selects."""
    group, _, value = override.partition("=")
    if value.count("[") > value.count("]"):
        raise ConfigError(
            f"the override {override!r} opens a list and does not close it; a list has "
            "no blank after a comma: dataset=[a,b]"
        )
    if not group or ("=" not in override and not override.startswith("~")):
        raise ConfigError(
            f"the override {override!r} is not of the form key=value, such as protocol.repeats=3"
        )
    if group in GROUPS:
        for name in filter(None, re.split(r"[\s,\[\]'\"]+", value)):
            _check_name(group, name, conf)


def _check_name(group, name, conf, asked_by="configuration"):
    names = available(group, conf)
    if name not in names:
        raise ConfigError(
            f"{group} {name!r} ({asked_by}) is unknown: there is no "
            f"conf/{group}/{name}.yaml. {nearest(name, names)}"
        )
    if group in ("dataset", "method"):
        _check_header(group, name, conf)


def _check_header(group, name, conf):
    """A file without its package line would spread over the whole configuration."""
    path = Path(conf) / group / f"{name}.yaml"
    wanted = f"# @package {group}.{name}"
    lines = path.read_text(encoding="utf-8").splitlines()
    if wanted not in [line.strip() for line in lines]:
        raise ConfigError(f"{path} lacks its first line: {wanted}")


def nearest(name, names):
    """A sentence that suggests the closest of the known names, and lists them."""
    return f"{did_you_mean(name, names)} Known: {', '.join(names)}.".lstrip()


def _check_packages(group, entries, conf):
    """Every entry must have come from the file of its name (the package header)."""
    known = set(available(group, conf))
    for name in entries:
        if name not in known:
            raise ConfigError(
                f"{group}.{name} comes from no file conf/{group}/{name}.yaml. A file "
                f"of conf/{group}/ starts with '# @package {group}.<file name>'."
            )


def _explain(error, conf):
    """One message out of Hydra's, with the nearest valid name for a wrong one."""
    text = str(error)
    cause = str(error.__cause__ or error.__context__ or "")
    if match := re.search(r"Could not (?:load|find) '(\w+)/([^']+)'", text):
        group, name = match.groups()
        return (
            f"{group} {name!r} is unknown: there is no conf/{group}/{name}.yaml. "
            f"{nearest(name, available(group, conf))}"
        )
    for candidate in (text, cause):
        if match := re.search(r"Key '([^']+)' (?:not in|is not in) '(\w+)'", candidate):
            key, owner = match.groups()
            siblings = _siblings(key, getattr(schema, owner, None))
            return f"{key!r} is not a setting{_where(candidate)}. {siblings}"
    if match := re.search(r"missing mandatory value: (\S+)", text):
        return f"{match[1]} is ???, which stands for no value: give it one"
    why = cause.partition("\n")[0]
    if match := re.search(r"Could not override '([^']+)'", text):
        return (
            f"{match.group(1)!r} is not a setting of this configuration ({why}). Free "
            "sections (settings, sweep, an estimator, a grid) take a new key with ++ "
            "before it"
        )
    if match := re.search(r"Error merging override (\S+)", text):
        if "dict is not a subclass" in why:
            why = "the selection (dataset=[...], method=[...]) holds no such name"
        return f"{match.group(1)} cannot be: {why}" + f". {ESCAPE}" * ("${" in why)
    return f"{text.strip()}. {ESCAPE}" if "${" in text else text.strip()


def _where(text):
    match = re.search(r"full_key: (\S+)", text)
    return f" (at {match.group(1)})" if match else ""


def _siblings(key, owner):
    return nearest(key, [f.name for f in fields(owner)]) if owner else ""
