"""The settings of a server and its workers: from flags, the environment and `headgate.toml`, checked once, then frozen.

`setting` has one record per setting: its type, default, flag, variable, key in the file, and help. The command line, the
file's reader, the errors and the table in docs/server.md are made from the records. Comes in: flags and the environment.
Goes out: `Settings`, which every process of the server is handed. `setting` loads nothing else, so that
commands which only show their options start at once.
"""
