// What a program that imports this module needs of others.

@_exported public import struct Ownership.Epoch
@_exported public import struct Ownership.NodeName
