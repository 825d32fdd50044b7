"""A real Kafka broker for tests: what Maven fetches and how it starts."""
