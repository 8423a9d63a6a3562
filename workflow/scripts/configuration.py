"""The configuration as it was resolved."""

from omegaconf import OmegaConf

from adakern._utils.files import atomic_path
from adakern_bench.records.job import job

with job(snakemake):
    text = OmegaConf.to_yaml(OmegaConf.create(snakemake.params.settings))
    with atomic_path(snakemake.output.config) as path:
        path.write_text(text, encoding="utf-8")
