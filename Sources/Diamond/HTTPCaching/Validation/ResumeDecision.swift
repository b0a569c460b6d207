import HTTPTypes

/// The meaning of the response to a request for the rest of a partial response, for the part that is here. A value,
/// computed without I/O; `Transfer` acts on it.
///
/// | response | decision |
/// |---|---|
/// | 206 with exactly the rest, and the validator | append |
/// | 206 with anything else: no `Content-Range`, several parts, another begin, end, length or validator, a coding | restart |
/// | 416 that names the length that is here, and the validator | complete |
/// | 416 with anything else | restart |
/// | 304 and 412, which the request did not ask for; 400 and 406, which the range may have caused | restart |
/// | 401, 403, 407, 408, 421, 425, 429, 5xx | keep |
/// | 200 and every other status | replace |
enum ResumeDecision: Hashable {
    /// The body follows the bytes that are here.
    case append
    /// The bytes that are here are the complete body.
    case complete
    /// The response takes the place of the part, which is discarded.
    case replace
    /// The response is of no use, and the part is discarded: the whole is requested once.
    case restart
    /// The response goes to the caller, and the part stays.
    case keep

    init(for part: PartialContent, status: Int, headers: HTTPFields) {
        switch status {
        case 206: self = part.isFollowed(by: headers) ? .append : .restart
        case 416: self = part.isComplete(accordingTo: headers) ? .complete : .restart
        case 304, 400, 406, 412: self = .restart
        case 401, 403, 407, 408, 421, 425, 429, 500...: self = .keep
        default: self = .replace
        }
    }
}

extension PartialContent {
    /// Whether a 206 has all bytes that are missing, and no others (RFC 9110 section 15.3.7).
    fileprivate func isFollowed(by headers: HTTPFields) -> Bool {
        guard case .bytes(let range, let total) = ContentRange(headers), !headers.isCoded else { return false }
        let isRest = range.lowerBound == received.upperBound && range.upperBound == completeLength - 1
        let announced =
            headers.contains(.contentLength) ? headers.single(.contentLength).flatMap { Int(digits: $0) } : range.count
        return isRest && total ?? completeLength == completeLength && announced == range.count
            && validator.isShared(byPart: headers)
    }

    /// Whether a 416 says that no byte is missing (RFC 9110 section 15.5.17).
    fileprivate func isComplete(accordingTo headers: HTTPFields) -> Bool {
        missingCount == 0 && ContentRange(headers) == .unsatisfied(length: completeLength)
            && validator.isRepeated(by: headers)
    }
}
