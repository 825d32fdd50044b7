"""What reads leave in the store: the ledger of governed copies, plans under way, the files that restricted readers were
given, answers kept for requests that are sent again, and the secrets that masks and copies are made with."""
