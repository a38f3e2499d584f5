"""A store that is not ours: its bucket must be there before the functions start."""

from local.config import Config


class StoreError(OSError):
    """The store cannot be used as it is; the text is one sentence for the terminal."""


def check_bucket(config: Config) -> None:
    """Look whether the bucket is in the store.

    It is made only if the user says so: with a mistyped name that would be a second memory, unnoticed.

    Raises StoreError.
    """
    where = f"The store at {config.s3_url}" if config.s3_url else f"AWS S3 in {config.region}"
    # What a runtime with its own store never needs.
    try:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError  # noqa: PLC0415
    except ImportError:
        raise StoreError(f"{where} needs the extra `s3`: pipx install 'live-memory[server,s3]'.") from None

    from livemem.settings import Settings  # noqa: PLC0415
    from livemem.store.clients import s3_client  # noqa: PLC0415

    settings = Settings.model_construct(  # of the variables these alone
        s3_endpoint_url=config.s3_url,
        s3_region_name=config.region,
        s3_access_key_id=config.outer.get("S3_ACCESS_KEY_ID") or None,
        s3_secret_access_key=config.outer.get("S3_SECRET_ACCESS_KEY") or None,
        embeddings_api_url=None,  # `off` is a word for the runtime alone
    )
    try:
        client = s3_client(settings)
        try:
            client.head_bucket(Bucket=config.bucket)
        except ClientError as error:
            missing = error.response["ResponseMetadata"]["HTTPStatusCode"] == 404
            # Buckets of AWS need more than a name: those are made by the template.
            if not (missing and config.make_bucket and config.s3_url):
                raise
            client.create_bucket(Bucket=config.bucket)
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        if status == 404:
            raise StoreError(
                f"{where} has no bucket {config.bucket!r}: correct S3_BUCKET_NAME, or create the bucket there."
            ) from error
        if status in {301, 400, 403}:
            raise StoreError(
                f"{where} refuses access to the bucket {config.bucket!r} ({status}): check S3_ACCESS_KEY_ID, "
                "S3_SECRET_ACCESS_KEY, S3_REGION_NAME and what the key may do."
            ) from error
        raise StoreError(f"{where} answered {status} when asked for the bucket {config.bucket!r}.") from error
    except NoCredentialsError as error:
        raise StoreError(f"{where} needs keys: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY.") from error
    except (BotoCoreError, ValueError) as error:
        variable = "S3_ENDPOINT_URL" if config.s3_url else "S3_REGION_NAME"
        raise StoreError(f"{where} cannot be reached ({type(error).__name__}): check {variable}.") from error
