"""One search engine for everything that a space holds. It knows documents, and no package that makes them.

Its modules but `documents` need the packages of the layer `search` (apsw, numpy, PyStemmer), which few functions load.
"""
