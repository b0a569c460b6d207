extension Int64 {
    /// Returns the sum; the nearest number if it overflows. For values from files, which may be damaged.
    package func addingSaturating(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference; the nearest number if it overflows.
    package func subtractingSaturating(_ other: Int64) -> Int64 {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (other < 0 ? .max : .min) : difference
    }
}
