"""The only place that joins parts: settings in, a function's object graph out.

One module a function. What a function needs for its first byte is made at once; vendors are
imported when they are first needed: for a turn, after ``pulse``.
"""
