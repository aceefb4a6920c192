# SPDX-License-Identifier: Apache-2.0
"""thunder_train.py LIBRARY ARGUMENT...: thundersvm-train, which the wheel thundersvm-cpu brings as a function of its
library and not as a program. The times of "training start" and "training finished" are in what it logs."""
import ctypes
import sys

arguments = ["thundersvm-train", *sys.argv[2:]]
words = (ctypes.c_char_p * len(arguments))(*[a.encode() for a in arguments])
sys.exit(ctypes.CDLL(sys.argv[1]).thundersvm_train(len(arguments), words))
