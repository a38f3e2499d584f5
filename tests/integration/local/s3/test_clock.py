"""The age of an object as a client works it out that trusts no clock of its own: Date less LastModified."""

from email.utils import parsedate_to_datetime

import pytest
from botocore.exceptions import ClientError

MOST = 5
"""Seconds that a request of these tests may take."""


def date_of(answer):
    return parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])


def test_every_answer_says_when_it_was_given(s3, bucket):
    answers = [
        s3.put_object(Bucket=bucket, Key="a", Body=b"1"),
        s3.head_object(Bucket=bucket, Key="a"),
        s3.delete_object(Bucket=bucket, Key="a"),
        s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "a"}]}),
    ]
    for wrong in ({"IfMatch": '"x"'}, {"IfNoneMatch": "*", "Key": "b"}):
        s3.put_object(Bucket=bucket, Key="b", Body=b"1")
        with pytest.raises(ClientError) as refused:
            s3.put_object(Bucket=bucket, **{"Key": "b", "Body": b"1", **wrong})
        answers.append(refused.value.response)
    with pytest.raises(ClientError) as missing:
        s3.get_object(Bucket=bucket, Key="none")
    answers.append(missing.value.response)
    assert all(date_of(answer).tzinfo for answer in answers)


def test_an_object_is_as_old_as_date_and_last_modified_say_in_an_object_and_in_a_listing(s3, bucket):
    put = s3.put_object(Bucket=bucket, Key="a", Body=b"1")
    got, listed = s3.get_object(Bucket=bucket, Key="a"), s3.list_objects_v2(Bucket=bucket)
    written = got["LastModified"]
    assert listed["Contents"][0]["LastModified"] == written
    assert abs((date_of(put) - written).total_seconds()) <= MOST
    for answer in (got, listed):
        assert 0 <= (date_of(answer) - written).total_seconds() <= MOST


def test_a_restart_makes_no_object_younger(start_s3, tmp_path):
    first = start_s3(tmp_path, "--bucket", "bucket")
    client = first.client()
    client.put_object(Bucket="bucket", Key="a", Body=b"1")
    written = client.get_object(Bucket="bucket", Key="a")["LastModified"]
    first.kill()
    client = start_s3(tmp_path).client()
    got = client.get_object(Bucket="bucket", Key="a")
    assert got["LastModified"] == written
    assert date_of(got) >= written
