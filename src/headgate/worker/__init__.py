"""The worker: takes what readers wait for from the store, has Spark make it, and hands it back. Any number of workers
share one store; a worker that dies leaves nothing behind that another does not finish."""
