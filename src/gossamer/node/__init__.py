"""One node without clock, socket or task: what happened goes in, what is to be done comes out. ``world``: many, in memory."""
