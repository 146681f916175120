"""Prints the hash and the score that PlacementTests expects, computed apart from the Swift code."""
import math

MASK = 2**64 - 1


def rendezvous(node, path):
    word = 0xCBF29CE484222325
    for byte in node.encode() + b"\xff" + path.encode():
        word = ((word ^ byte) * 0x100000001B3) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


value = rendezvous("node-1", "/shop/orders")
print(f"{value:016X}", 3 / -math.log(((value >> 11) + 0.5) * 2**-53))
