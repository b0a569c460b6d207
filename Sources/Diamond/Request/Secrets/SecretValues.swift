/// The secret values of a request, which are masked in messages about its response: a server may repeat them.
package struct SecretValues: Hashable, Sendable {
    /// The longest first, so that no part of a longer one is left.
    private let values: [[UInt8]]

    package init(_ values: some Sequence<String>) {
        self.values = Set(values).map { Array($0.utf8) }.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
    }

    /// Returns a text with each of the values masked. A value of fewer than four bytes is masked as a whole word only.
    package func masked(_ text: String) -> String {
        guard !values.isEmpty else { return text }
        // As bytes: a letter with a combining mark is a different `Character`.
        return String(decoding: values.reduce(Array(text.utf8)) { Self.masked($0, hiding: $1) }, as: UTF8.self)
    }

    private static func masked(_ text: [UInt8], hiding value: [UInt8]) -> [UInt8] {
        var masked: [UInt8] = []
        var end = 0
        for range in text.ranges(of: value) where value.count >= 4 || isWord(range, in: text) {
            masked += text[end..<range.lowerBound]
            masked += FieldSecrets.mask.utf8
            end = range.upperBound
        }
        return masked + text[end...]
    }

    private static func isWord(_ range: Range<Int>, in text: [UInt8]) -> Bool {
        let neighbors = text[..<range.lowerBound].suffix(1) + text[range.upperBound...].prefix(1)
        return !neighbors.contains { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...: true
            default: false
            }
        }
    }
}
