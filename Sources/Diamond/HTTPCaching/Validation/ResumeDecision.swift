import HTTPTypes

/// The effect of the response to a request for the rest on the received part. A value, computed without I/O; `Transfer`
/// acts on it.
///
/// | response | decision |
/// |---|---|
/// | 206 with exactly the rest, and the validator | append |
/// | 206 with anything else: no `Content-Range`, several parts, a coding, other bytes, length or validator | restart |
/// | 416 with the length of the received part, and the validator | complete |
/// | 416 with anything else | restart |
/// | 304 and 412, which the request did not ask for; 400 and 406, which the range may have caused | restart |
/// | 401, 403, 407, 408, 421, 425, 429, 5xx | keep |
/// | 200 with `Content-Range`, which says that the body is a part | contradict |
/// | 200 and every other status | replace |
enum ResumeDecision: Hashable {
    /// The body continues the received part.
    case append
    /// The received part is the complete body.
    case complete
    /// The response replaces the received part.
    case replace
    /// Response and part are discarded, and the whole is requested, once.
    case restart
    /// The caller gets the response, and the part stays.
    case keep
    /// Response and part are discarded, and the request fails.
    case contradict

    init(for part: PartialContent, status: Int, headers: HTTPFields) {
        switch status {
        case 206: self = part.isFollowed(by: headers) ? .append : .restart
        case 416: self = part.isComplete(accordingTo: headers) ? .complete : .restart
        case 200 where headers.contains(.contentRange): self = .contradict
        case 304, 400, 406, 412: self = .restart
        case 401, 403, 407, 408, 421, 425, 429, 500...: self = .keep
        default: self = .replace
        }
    }
}

extension PartialContent {
    /// Whether a 206 has exactly the missing bytes (RFC 9110 section 15.3.7).
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
