"""Stage ``configuration``: the resolved configuration, for reader and tracker."""

from omegaconf import OmegaConf

from adakern._utils.files import atomic_path

__all__ = ["run"]


def run(inputs, outputs, params):
    """Write the configuration as YAML."""
    with atomic_path(outputs["config"]) as path:
        path.write_text(OmegaConf.to_yaml(OmegaConf.create(params)), encoding="utf-8")
