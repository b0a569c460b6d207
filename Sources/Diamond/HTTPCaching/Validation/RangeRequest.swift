import HTTPTypes

/// The range of bytes that a request asks for (RFC 9110 section 14.2).
enum RangeRequest: Hashable {
    /// The bytes from one to another, which is included, or to the end of the representation.
    case from(Int, through: Int?)
    /// The last bytes of the representation.
    case suffix(Int)
    /// Several ranges. A server may answer with the whole representation, as the cache does.
    case several

    /// Reads the `Range` field; `nil` if there is none, or if it must be ignored: another unit than bytes, an invalid
    /// range, or fields that differ.
    init?(_ headers: HTTPFields) {
        guard let value = headers.single(.range) else { return nil }
        let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let ranges = String(parts[1]).listElements.filter { !$0.isEmpty }.map { Self(spec: $0) }
        guard let first = ranges.first, !ranges.contains(nil) else { return nil }
        guard ranges.count == 1 else {
            self = .several
            return
        }
        guard let first else { return nil }
        self = first
    }

    private init?(spec: String) {
        let ends = spec.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (ends[0].isEmpty, ends[1].isEmpty) {
        case (true, true): return nil
        case (true, false):
            guard let length = Int(digits: ends[1]) else { return nil }
            self = .suffix(length)
        case (false, true):
            guard let first = Int(digits: ends[0]) else { return nil }
            self = .from(first, through: nil)
        case (false, false):
            guard let first = Int(digits: ends[0]), let last = Int(digits: ends[1]), first <= last else { return nil }
            self = .from(first, through: last)
        }
    }

    /// The part of a representation that it selects.
    enum Selection: Hashable {
        case bytes(Range<Int>)
        case whole
        /// No byte: the response is 416 (RFC 9110 section 15.5.17).
        case unsatisfiable
    }

    /// Returns the part of a representation.
    ///
    /// - Parameter length: the bytes of the representation.
    func selection(of length: Int) -> Selection {
        switch self {
        case .several: .whole
        case .suffix(let count): count > 0 && length > 0 ? .bytes(max(0, length - count)..<length) : .unsatisfiable
        case .from(let first, _) where first >= length: .unsatisfiable
        case .from(let first, let last): .bytes(first..<min(last ?? length - 1, length - 1) + 1)
        }
    }
}
