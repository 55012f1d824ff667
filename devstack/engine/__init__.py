"""A stand-in for Algolia's search engine: tantivy for candidates, Algolia's criteria for order.

Read it in this order: ``settings`` and ``parameters`` (what may be asked), ``tokens`` (text into
words), ``documents`` (a record as it is indexed), ``text_index`` (what tantivy holds),
``query_words`` (what each word of a query may match), ``candidates`` (the tantivy query),
``ranking`` (the eight criteria), ``finding`` (what a search finds), ``search`` (hits, highlights,
facets), ``search_index`` (one index and its tasks), ``journal`` (what outlives a crash),
``engine`` (all of them).

The optional neural mode: ``embedder`` (the models), ``embedded_text`` (what they read of a
record), ``embeddings`` (embedding in the background), ``vectors`` (the nearest ones), ``neural``
(both lists as one).
"""
