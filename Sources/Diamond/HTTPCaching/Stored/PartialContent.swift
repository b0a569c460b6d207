import HTTPTypes

/// The part of a representation that has been received: which bytes, of how many, and the validator that tells whether
/// other bytes belong to the same representation (RFC 9110 section 14, RFC 9111 sections 3.3 and 3.4).
///
/// Only a prefix is kept today, the beginning of a 200 whose transfer broke, so ``received`` begins at 0. The three facts
/// describe any part: a 206 has the range of its `Content-Range`; two parts that share the validator and whose ranges
/// touch are combined into one with the union of their ranges; a `Range` is answered from a part that contains it.
struct PartialContent: Hashable, Sendable {
    let validator: StrongValidator
    /// The length of the complete representation in bytes.
    let completeLength: Int
    /// The bytes that are here. Its end may be beyond ``completeLength`` where a server sends more than it announced.
    private(set) var received: Range<Int>

    /// Describes the beginning of a response; `nil` where the response cannot be resumed.
    ///
    /// It can be where it is a whole representation (200) with a length and a strong validator, has no content coding, and
    /// the server does not refuse ranges. A transport that has removed a coding has removed the length with it, because
    /// ranges count coded bytes.
    ///
    /// - Parameters:
    ///   - count: bytes of the body that are here, at most the complete length.
    ///   - now: milliseconds since 1970; only for years of two digits.
    init?(status: Int, headers: HTTPFields, count: Int = 0, now: Int64) {
        guard status == 200, !headers.isCoded, !headers[values: .acceptRanges].flatMap(\.listElements).contains("none"),
            let length = headers.single(.contentLength).flatMap({ Int(digits: $0) }), count <= length,
            let validator = StrongValidator(headers, now: now)
        else { return nil }
        self.validator = validator
        completeLength = length
        received = 0..<count
    }

    /// The number of bytes that follow those that are here; negative where more than the complete length was received.
    var missingCount: Int { completeLength - received.upperBound }

    mutating func append(count: Int) {
        received = received.lowerBound..<received.upperBound + count
    }

    /// Turns the header fields of a request into those of one for the bytes behind ``received``.
    ///
    /// Conditions on a stored response are removed: the partial response has shown that it is outdated.
    func askForRest(in headers: inout HTTPFields) {
        headers[.ifNoneMatch] = nil
        headers[.ifModifiedSince] = nil
        headers[.range] = "bytes=\(received.upperBound)-"
        headers[.ifRange] = validator.text
        if headers[.acceptEncoding] == nil { headers[.acceptEncoding] = "identity" }
    }
}

extension HTTPFields {
    /// Whether the body has a content coding (RFC 9110 section 8.4).
    var isCoded: Bool { contains { $0.name == .contentEncoding && $0.value.lowercased() != "identity" } }
}
