"""Topics of a Kafka cluster: listed, described, made, changed and dropped. No message is read or written.

Comes in: brokers of hosts that the operator opened. Goes out: topics with their settings.
"""
