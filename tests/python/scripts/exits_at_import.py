import sys

sys.exit("usage: pass a model")
