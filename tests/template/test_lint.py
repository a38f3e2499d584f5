"""cfn-lint on the transformed template: `sam validate --lint` sees only the template before SAM adds its resources."""

import copy


def test_the_transformed_template_has_no_findings(source, findings):
    assert findings(source) == []


def test_a_variable_that_refers_to_the_bucket_would_be_found_as_a_circle(source, findings):
    changed = copy.deepcopy(source)
    counter = changed["Resources"]["CounterFunction"]["Properties"]
    counter["Environment"] = {"Variables": {"S3_BUCKET_NAME": {"Ref": "Bucket"}}}

    assert any(finding.startswith("E3004") for finding in findings(changed))


def test_a_policy_that_refers_to_the_bucket_would_be_found_as_a_circle(source, findings):
    changed = copy.deepcopy(source)
    policy = changed["Resources"]["CounterFunction"]["Properties"]["Policies"][0]
    policy["Statement"][0]["Resource"] = {"Fn::GetAtt": ["Bucket", "Arn"]}

    assert any(finding.startswith("E3004") for finding in findings(changed))
