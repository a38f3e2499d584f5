"""The client as a package: installed into an environment of its own, it runs what its README says."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.e2e.spaces import fresh_id, removed
from tests.support.installed import install

CLIENT = Path(__file__).resolve().parents[2] / "client"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", (CLIENT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the package and what it requires, and nothing else."""
    return install(tmp_path_factory.mktemp("installed")) / "python"


def run(python: Path, code: str) -> str:
    done = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_package_is_complete_and_knows_its_version(installed):
    told = run(
        installed,
        "import importlib.metadata as m, pathlib, live_memory, live_memory.models\n"
        "print(m.version('live-memory') == live_memory.__version__, 'site-packages' in live_memory.__file__)\n"
        "print((pathlib.Path(live_memory.__file__).parent / 'py.typed').is_file())",
    )
    assert told.split() == ["True", "True", "True"]


@pytest.mark.slow
def test_every_example_of_its_readme_works(installed, service):
    space = fresh_id()
    with removed(service, space):
        codes = []
        for example in EXAMPLES:
            code = example.replace('"http://127.0.0.1:3000", "lm_..."', f"{service.url!r}, {service.token!r}")
            assert code != example
            code = code.replace('"demo"', f'"{space}"')
            codes.append(f"exec({code!r}, {{}})")
        shown = run(installed, "\nprint('====')\n".join(codes)).split("====\n")
    assert len(shown) == 3
    assert "\ndone\n" in shown[0]
    assert "S3 as the only store" in shown[1]
    assert shown[2].startswith("422 invalid_request content")
    assert "FieldProblem(field='content'" in shown[2]
