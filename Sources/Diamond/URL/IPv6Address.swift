/// An IPv6 address, with its canonical text form.
struct IPv6Address: Hashable {
    /// The eight groups of 16 bits, in order.
    private let groups: [UInt16]

    /// Parses the text forms of RFC 4291 section 2.2: groups of hexadecimal digits, one `::`, and an IPv4 address as
    /// the last two groups. Zones are not supported.
    init?(_ text: String) {
        let halves = text.splitAtElision
        guard halves.count <= 2, let head = Self.groups(halves[0], isLast: halves.count == 1) else { return nil }
        guard halves.count == 2 else {
            guard head.count == 8 else { return nil }
            groups = head
            return
        }
        guard let tail = Self.groups(halves[1], isLast: true), head.count + tail.count < 8 else { return nil }
        groups = head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
    }

    /// - Parameter isLast: whether the text may end with an IPv4 address.
    private static func groups(_ text: Substring, isLast: Bool) -> [UInt16]? {
        guard !text.isEmpty else { return [] }
        var groups: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if isLast, index == parts.count - 1, part.contains(".") {
                guard let address = embedded(part) else { return nil }
                groups += address
            } else {
                guard (1...4).contains(part.utf8.count), let group = UInt16(hexadecimal: part) else { return nil }
                groups.append(group)
            }
        }
        return groups
    }

    private static func embedded(_ text: Substring) -> [UInt16]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part -> UInt16? in
            let isDecimal = part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            let hasNoLeadingZero = part == "0" || part.first != "0"
            return isDecimal && hasNoLeadingZero ? UInt8(part).map(UInt16.init) : nil
        }
        guard parts.count == 4, bytes.count == 4 else { return nil }
        return [bytes[0] << 8 | bytes[1], bytes[2] << 8 | bytes[3]]
    }
}

extension IPv6Address: CustomStringConvertible {
    /// The canonical form (RFC 5952): lower case, no leading zeros, the first of the longest runs of at least two zero
    /// groups as `::`. An IPv4-mapped address ends with its IPv4 form (section 5).
    var description: String {
        let isMapped = groups.prefix(5).allSatisfy { $0 == 0 } && groups[5] == 0xFFFF
        guard !isMapped else {
            return "::ffff:\(groups[6] >> 8).\(groups[6] & 255).\(groups[7] >> 8).\(groups[7] & 255)"
        }
        guard let run = longestRun else { return Self.text(groups[...]) }
        return Self.text(groups[..<run.lowerBound]) + "::" + Self.text(groups[run.upperBound...])
    }

    private var longestRun: Range<Int>? {
        var longest = 0..<1
        var start = 0
        for end in 1...8 {
            if groups[end - 1] != 0 { start = end } else if end - start > longest.count { longest = start..<end }
        }
        return longest.count >= 2 ? longest : nil
    }

    private static func text(_ groups: ArraySlice<UInt16>) -> String {
        groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
}

extension String {
    /// The parts before and after each `::`.
    fileprivate var splitAtElision: [Substring] {
        var parts: [Substring] = []
        var rest = self[...]
        while let range = rest.firstRange(of: "::") {
            parts.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        return parts + [rest]
    }
}

extension UInt16 {
    fileprivate init?(hexadecimal text: Substring) {
        guard text.utf8.allSatisfy({ Hex.value(of: $0) != nil }) else { return nil }
        self.init(text, radix: 16)
    }
}
