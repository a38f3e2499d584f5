from pathlib import Path

import pytest

from local.config import ConfigError, read_config


def test_variables_choose_everything_and_nothing_is_needed():
    config = read_config({})
    assert (config.host, config.port, config.bucket, config.s3_url) == ("127.0.0.1", 3000, "live-memory", None)
    config = read_config({"PORT": "0", "LIVEMEM_DATA_DIR": "x", "S3_ENDPOINT_URL": "", "LIVEMEM_SWEEP_SECONDS": "2.5"})
    assert (config.port, config.data, config.s3_url, config.sweep_seconds) == (0, Path.cwd() / "x", None, 2.5)


@pytest.mark.parametrize(
    "values",
    [
        {"PORT": "x"},
        {"PORT": "70000"},
        {"LIVEMEM_SWEEP_SECONDS": "0"},
        {"LIVEMEM_SWEEP_SECONDS": "soon"},
        {"LIVEMEM_INVOKE_FROM": "lan"},
    ],
)
def test_a_wrong_variable_is_named(values):
    with pytest.raises(ConfigError, match=next(iter(values))):
        read_config(values)
