/// Whole numbers of a unit, for what counts time so: the kernel, nng, the wire.
extension Duration {
    /// In nanoseconds; what doesn't fit in 64 bits (292 years) is the largest.
    package var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }

    /// In milliseconds, rounded toward zero; what doesn't fit in 64 bits is the largest.
    package var wholeMilliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }

    /// In whole milliseconds, at least 0, at most what 32 bits hold less one.
    package var millisecondsClamped: UInt32 { min(UInt32(clamping: wholeMilliseconds), .max - 1) }

    /// In milliseconds, rounded up, so that a wait of this length isn't too short; at least 0, at most what 32 bits with a sign hold.
    package var millisecondsRoundedUp: Int32 {
        let (milliseconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        return max(0, Int32(clamping: rest > 0 ? milliseconds + 1 : milliseconds))
    }
}
