"""Nessie, an Iceberg REST catalog to federate, with moto's S3 as its storage: what Maven fetches and how it starts."""
