extension BinaryInteger {
    /// Returns the nearest number in a range.
    func clamped(to range: ClosedRange<Self>) -> Self { Swift.min(Swift.max(self, range.lowerBound), range.upperBound) }
}

extension FixedWidthInteger {
    /// Parses a number that consists only of digits; `nil` if it does not, or overflows.
    init?(digits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.init(text)
    }
}
