from tests.minio import minio

__all__ = ["minio"]
