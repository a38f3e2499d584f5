"""A store that is not ours: the bucket must be there before the functions start."""

from local.config import Config


def ensure_bucket(config: Config) -> None:
    """Create the bucket in the store of S3_ENDPOINT_URL unless it exists.

    Raises:
        OSError: the store cannot be reached, or refuses; the text is one sentence for the terminal.
    """
    # Half a second of import that a runtime with its own store never needs.
    import boto3  # noqa: PLC0415
    from botocore.config import Config as ClientConfig  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    outer = config.outer
    client = boto3.client(
        "s3",
        endpoint_url=config.s3_url,
        region_name=outer.get("S3_REGION_NAME") or outer.get("AWS_REGION") or "us-east-1",
        aws_access_key_id=outer.get("S3_ACCESS_KEY_ID") or None,
        aws_secret_access_key=outer.get("S3_SECRET_ACCESS_KEY") or None,
        config=ClientConfig(
            connect_timeout=5, read_timeout=15, retries={"total_max_attempts": 2}, s3={"addressing_style": "path"}
        ),
    )
    try:
        try:
            client.head_bucket(Bucket=config.bucket)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 404:
                raise
            client.create_bucket(Bucket=config.bucket)
    except (BotoCoreError, ClientError) as error:
        raise OSError(f"The store at {config.s3_url} does not give the bucket {config.bucket}: {error}") from error
