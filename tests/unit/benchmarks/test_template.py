"""The benchmark's copy of the template is that of the project, with what it changes on purpose."""

import pytest

from benchmarks.chaos.programs import ROOT, write_template
from local.functions.template import read_template


@pytest.mark.slow
def test_a_copy_elsewhere_has_the_same_functions(tmp_path):
    write_template(tmp_path / "template.yaml")
    assert read_template(tmp_path / "template.yaml") == read_template(ROOT / "template.yaml")


@pytest.mark.slow
def test_a_copy_may_have_other_slots(tmp_path):
    write_template(tmp_path / "template.yaml", slots=7)
    functions = read_template(tmp_path / "template.yaml").functions
    reserved = {function.logical_id: function.reserved_concurrency for function in functions}
    assert reserved["ConsolidateFunction"] == 7
