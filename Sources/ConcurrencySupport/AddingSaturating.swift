extension FixedWidthInteger {
    /// Returns the sum, or the nearest number that the type has.
    @inlinable
    package func addingSaturating(_ other: Self) -> Self {
        let (sum, isOverflow) = addingReportingOverflow(other)
        return isOverflow ? (other < 0 ? .min : .max) : sum
    }
}
