"""cfn-lint on the transformed template: `sam validate --lint` sees only the template before SAM adds its resources."""

import copy
import json

import pytest

from tests.support.template import compile_template


@pytest.mark.slow
def test_the_transformed_template_has_no_findings(source, findings):
    assert findings(source) == []


@pytest.mark.slow
def test_a_variable_that_refers_to_the_bucket_would_be_found_as_a_circle(source, findings):
    changed = copy.deepcopy(source)
    # The two of which the circle is, not all that the rules take seconds for.
    changed["Resources"] = {name: changed["Resources"][name] for name in ("Bucket", "CounterFunction")}
    assert not any(finding.startswith("E3004") for finding in findings(changed))
    counter = changed["Resources"]["CounterFunction"]["Properties"]
    counter["Environment"] = {"Variables": {"S3_BUCKET_NAME": {"Ref": "Bucket"}}}

    assert any(finding.startswith("E3004") for finding in findings(changed))


@pytest.mark.slow
def test_a_policy_that_refers_to_the_bucket_would_be_found_as_a_circle(source):
    # By the rule that the test above has found among all the others, which take seconds.
    assert circles(source) == []
    changed = copy.deepcopy(source)
    policy = changed["Resources"]["CounterFunction"]["Properties"]["Policies"][0]
    policy["Statement"][0]["Resource"] = {"Fn::GetAtt": ["Bucket", "Arn"]}

    assert circles(changed)


def circles(source):
    """What cfn-lint's rule E3004 alone says about a SAM template once it is transformed."""
    # Here, since they bring a library of algebra with them, which only the process that lints should load.
    from cfnlint.decode import decode_str
    from cfnlint.rules.resources.CircularDependency import CircularDependency
    from cfnlint.template import Template as Linted

    decoded, unreadable = decode_str(json.dumps(compile_template(source)))
    assert not unreadable
    rule = CircularDependency()
    assert rule.id == "E3004"
    return rule.match(Linted(None, decoded))
