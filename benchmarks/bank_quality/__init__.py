"""How good a bank a model keeps: a story of six weeks, folded in eight chapters, against a key written before."""
