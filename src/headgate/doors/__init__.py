"""The doors: HTTP. Each door translates its protocol to the steward's words and back; nothing else knows HTTP.

Every route is registered together with the operation it requires; the permit is asked for before the handler runs, so
a handler cannot forget to. Comes in: requests. Goes out: answers and errors in the body that the protocol prescribes.
"""
