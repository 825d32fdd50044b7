"""How connectors talk to services: AWS clients and REST, both with pacing for a service that is too busy. Shared by several systems."""
