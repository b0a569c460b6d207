import HTTPTypes

/// The beginning of a representation whose transfer has not ended: the received bytes, the complete length, and the
/// validator that the rest must share (RFC 9110 section 14, RFC 9111 section 3.3). A ``StoredPart`` may have any range.
struct PartialContent: Hashable, Sendable {
    let validator: StrongValidator
    /// The length of the complete representation in bytes.
    let completeLength: Int
    /// The received bytes, from 0. The end is beyond ``completeLength`` if a server sends more than it announced.
    private(set) var received: Range<Int>

    /// Creates the beginning of a response; `nil` if the response cannot be resumed.
    ///
    /// A response can be resumed if it is a whole representation (200) with a length and a strong validator, has no
    /// content coding, and the server does not refuse ranges. A transport that removes a coding also removes the
    /// length, because ranges count coded bytes.
    ///
    /// - Parameters:
    ///   - count: the number of received bytes, at most the complete length.
    ///   - now: the current time; only for years of two digits.
    init?(status: Int, headers: HTTPFields, count: Int = 0, now: WallTime) {
        guard status == 200, !headers.isCoded, !headers[values: .acceptRanges].flatMap(\.listElements).contains("none"),
            let length = headers.single(.contentLength).flatMap({ Int(digits: $0) }), count <= length,
            let validator = StrongValidator(headers, now: now)
        else { return nil }
        self.validator = validator
        completeLength = length
        received = 0..<count
    }

    /// The number of missing bytes; negative if more than the complete length was received.
    var missingCount: Int { completeLength - received.upperBound }

    mutating func append(count: Int) {
        received = received.lowerBound..<received.upperBound + count
    }

    /// Changes the header fields of a request so that it asks for the bytes after ``received``.
    ///
    /// Conditions on a stored response are removed: the partial response shows that the stored one is outdated.
    func askForRest(in headers: inout HTTPFields) {
        headers[.ifNoneMatch] = nil
        headers[.ifModifiedSince] = nil
        headers[.range] = "bytes=\(received.upperBound)-"
        headers.set(.ifRange, byteText: validator.text)
        if headers[.acceptEncoding] == nil { headers[.acceptEncoding] = "identity" }
    }
}

extension HTTPFields {
    /// Whether the body has a content coding (RFC 9110 section 8.4).
    var isCoded: Bool { contains { $0.name == .contentEncoding && $0.value.lowercased() != "identity" } }
}
