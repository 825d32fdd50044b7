"""What is in a metalake: metalakes and catalogs, schemas and what they hold, and jobs."""
