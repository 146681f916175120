/// The duration in whole numbers of a unit, as the kernel, nng and the wire count time.
extension Duration {
    /// The duration in nanoseconds; the largest or smallest value of 64 bits (292 years) when it doesn't fit.
    package var nanosecondsClamped: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return sumOverflow ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in milliseconds, rounded toward zero; the largest or smallest value of 64 bits when it doesn't fit.
    package var wholeMilliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }

    /// The duration in microseconds, rounded toward zero; the largest or smallest value of 64 bits when it doesn't fit.
    package var wholeMicroseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000) }

    /// The duration in whole milliseconds, at least 0 and at most one less than the largest value of 32 bits.
    package var millisecondsClamped: UInt32 { min(UInt32(clamping: wholeMilliseconds), .max - 1) }

    /// The duration in milliseconds, rounded up so that a wait of this length isn't too short; at least 0, at most `Int32.max`.
    package var millisecondsRoundedUp: Int32 {
        let (milliseconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
        return max(0, Int32(clamping: rest > 0 ? milliseconds + 1 : milliseconds))
    }
}
