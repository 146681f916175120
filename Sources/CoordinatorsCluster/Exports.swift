// What a program that imports this module needs of others.

@_exported public import struct Ownership.Epoch
@_exported public import struct Ownership.LeaseTerms
@_exported public import struct Ownership.NodeName
@_exported public import enum Ownership.StoreLossPolicy
