import HTTPTypes

/// What the answer to a request for the rest of a response means. A value, computed without I/O; the exchange obeys it.
///
/// | answer | decision |
/// |---|---|
/// | 206 with the very rest, and the validator | append |
/// | 206 with anything else: no `Content-Range`, several parts, another begin, end, length or validator, a coding | restart |
/// | 416 that names the length that is here, and the validator | complete |
/// | 416 with anything else | restart |
/// | 304 and 412, which nobody asked for; 400 and 406, which a whole request may not get | restart |
/// | 401, 403, 407, 408, 421, 425, 429, 5xx | keep |
/// | 200 and every other status | replace |
enum ContinuationDecision: Hashable {
    /// Its body follows what is here.
    case append
    /// What is here is all.
    case complete
    /// It is an answer of its own, and what is here is of no use.
    case replace
    /// It is no answer, and what is here is of no use: the whole is to be asked for, once.
    case restart
    /// It is an answer of its own, and says nothing of what is here.
    case keep

    /// - Parameter received: bytes that are here.
    init(_ continuation: Continuation, from received: Int, status: Int, headers: HTTPFields) {
        switch status {
        case 206: self = continuation.isRest(headers, from: received) ? .append : .restart
        case 416: self = continuation.isAll(headers, received) ? .complete : .restart
        case 304, 400, 406, 412: self = .restart
        case 401, 403, 407, 408, 421, 425, 429, 500...: self = .keep
        default: self = .replace
        }
    }
}

extension Continuation {
    /// Whether an answer brings all that is missing, and nothing else (RFC 9110 section 15.3.7).
    fileprivate func isRest(_ headers: HTTPFields, from received: Int) -> Bool {
        guard case .bytes(let range, let total) = ContentRange(headers), !headers.isCoded else { return false }
        let isInFull = range.lowerBound == received && range.upperBound == length - 1 && total ?? length == length
        let announced =
            headers.contains(.contentLength) ? headers.single(.contentLength).flatMap { Int(digits: $0) } : range.count
        return isInFull && announced == range.count && isShared(by: headers)
    }

    /// Whether an answer says that nothing is missing (RFC 9110 section 15.5.17).
    fileprivate func isAll(_ headers: HTTPFields, _ received: Int) -> Bool {
        received == length && ContentRange(headers) == .unsatisfied(length: received) && isNamed(by: headers)
    }
}
