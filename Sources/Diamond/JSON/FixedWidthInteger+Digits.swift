extension FixedWidthInteger {
    /// Of nothing but digits: neither a sign nor a space. `nil` where it is too much.
    init?(digits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.init(text)
    }
}
