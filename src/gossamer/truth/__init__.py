"""Who should have received what: boxes and events come in; counts, order-free hashes, pairs and rings go out.

This room shares no matching code with ``interest`` or ``protocol``, whose work it judges.
"""
