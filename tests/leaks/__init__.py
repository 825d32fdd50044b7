"""The leak hunt: random tables, policies, tags and people on a real server; what every engine reads is compared with plain
Python over the raw rows, and a hostile reader searches all that the server gave for values outside the lens."""
