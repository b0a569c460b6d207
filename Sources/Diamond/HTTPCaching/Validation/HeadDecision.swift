import HTTPTypes

/// The meaning of the answer to a HEAD for the stored answer to the same GET (RFC 9111 section 4.3.5). A value,
/// computed without I/O.
///
/// | answer | decision |
/// |---|---|
/// | 200 whose entity tag, date or length is another, or of which the stored one has none; 200 where another status is stored | invalidate |
/// | 200 with a validator that is the stored one's | update |
/// | 200 without a validator, and every other status | ignore |
enum HeadDecision: Hashable {
    /// Its fields take the place of the stored ones, as those of a 304 do.
    case update
    /// The stored answer is stale.
    case invalidate
    /// The answer says nothing of the stored one.
    case ignore

    init(_ stored: StoredResponse, status: Int, headers: HTTPFields) {
        guard status == 200 else {
            self = .ignore
            return
        }
        let own = stored.headers
        let tag = headers.single(.eTag).map { tag in own.single(.eTag).map { EntityTag.match(tag, $0) } ?? false }
        let date = headers.single(.lastModified).map { own.single(.lastModified).isExactly($0) }
        let isOther = stored.status != 200 || tag == false || date == false || Self.hasOtherLength(headers, own)
        self = isOther ? .invalidate : tag == nil && date == nil ? .ignore : .update
    }

    // Of a coded body nobody tells the length that the decoded one has.
    private static func hasOtherLength(_ headers: HTTPFields, _ own: HTTPFields) -> Bool {
        guard !headers.isCoded, let length = headers.single(.contentLength).flatMap({ Int(digits: $0) }),
            let ownLength = own.single(.contentLength).flatMap({ Int(digits: $0) })
        else { return false }
        return length != ownLength
    }
}
