/// Bytes that somebody else encoded: a payload, a trace context, a configuration.
///
/// It is a slice so that a decoded payload can share the memory of the batch it arrived in. Such a slice keeps the whole batch alive and has the
/// batch's indices; copy it with `Array(bytes)` to hold on to it for long.
public typealias Bytes = ArraySlice<UInt8>

/// The number that stands for a name on one direction of one link.
///
/// 0 is the empty string. Every other number is introduced by a ``DefineName`` frame before, or earlier in, the batch that first uses it.
public typealias NameID = UInt32
