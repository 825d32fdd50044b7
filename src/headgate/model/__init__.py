"""The nouns of Headgate as frozen values: securable objects, principals, grants, tags, schemas, verdicts. No I/O, no imports from other rooms."""
