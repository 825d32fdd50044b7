"""The worker and its ledger: leases, crashes, faults, clusters."""
