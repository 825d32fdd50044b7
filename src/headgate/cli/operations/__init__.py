"""What an operator runs and looks at: the server, the worker, the doctor, the audit trail, and Spark on the caller's side."""
