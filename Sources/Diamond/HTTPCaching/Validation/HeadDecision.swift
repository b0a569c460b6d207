import HTTPTypes

/// The effect of a response to HEAD on the stored response to the same GET (RFC 9111 section 4.3.5). A value, computed
/// without I/O.
///
/// | response to HEAD | decision |
/// |---|---|
/// | 200, and another status is stored | invalidate |
/// | 200 with an entity tag or a date that the stored response does not have | invalidate |
/// | 200 with another length | invalidate |
/// | 200 with a validator of the stored response | update |
/// | 200 without a validator, and every other status | ignore |
enum HeadDecision: Hashable {
    /// The new fields replace the stored ones, as those of a 304 do.
    case update
    /// The stored response is marked stale.
    case invalidate
    /// The stored response does not change.
    case ignore

    init(_ stored: StoredResponse, status: Int, headers: HTTPFields) {
        guard status == 200 else {
            self = .ignore
            return
        }
        let own = stored.headers
        let tag = headers.byteText(.eTag).map { tag in own.byteText(.eTag).map { EntityTag.match(tag, $0) } ?? false }
        let date = headers.single(.lastModified).map { own.single(.lastModified).isExactly($0) }
        let isOther = stored.status != 200 || tag == false || date == false || Self.hasOtherLength(headers, own)
        self = isOther ? .invalidate : tag == nil && date == nil ? .ignore : .update
    }

    // If the body is coded, the length of the decoded body is not known.
    private static func hasOtherLength(_ headers: HTTPFields, _ own: HTTPFields) -> Bool {
        guard !headers.isCoded, let length = headers.single(.contentLength).flatMap({ Int(digits: $0) }),
            let ownLength = own.single(.contentLength).flatMap({ Int(digits: $0) })
        else { return false }
        return length != ownLength
    }
}
