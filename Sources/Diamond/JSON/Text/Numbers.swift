extension Int64 {
    /// The sum of two numbers that are not negative, or the largest where that is too much: of what a file says, which may
    /// be damaged.
    package func addedAtMost(_ other: Int64) -> Int64 {
        let (sum, isTooMuch) = addingReportingOverflow(other)
        return isTooMuch ? .max : sum
    }
}

extension BinaryInteger {
    /// The nearest number of a range.
    func clamped(to range: ClosedRange<Self>) -> Self { Swift.min(Swift.max(self, range.lowerBound), range.upperBound) }
}

extension FixedWidthInteger {
    /// Reads a number of digits alone, without a sign or a space. `nil` where it is too large.
    init?(digits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.init(text)
    }
}
