import HTTPTypes

/// The validators of a stored response that a request sends in addition to its own conditions (RFC 9111 section 4.3.1).
///
/// | own conditions | stored validators | sent |
/// |---|---|---|
/// | none, or a date | tag, date | the stored tag and date |
/// | tags | tag | all tags in one list |
/// | tags | date alone | the own tags: with them no date is evaluated |
/// | `*` | any | `*` |
enum SentValidators: Hashable {
    /// Only the request's own conditions, if it has any.
    case none
    /// Only those of the stored response.
    case stored
    /// The tag of the stored response in one list with other tags.
    case both

    /// - Parameters:
    ///   - stored: the header fields of the stored response.
    ///   - own: the header fields of the request, with the conditions of its own.
    init(of stored: HTTPFields, with own: HTTPFields) {
        let tag = stored.validator(.eTag)
        guard let tags = EntityTagList(own) else {
            self = tag != nil || stored.validator(.lastModified) != nil ? .stored : .none
            return
        }
        guard let tag, !tags.isAny else {
            self = .none
            return
        }
        self = tags.matchesOnly(tag) ? .stored : .both
    }
}

extension HTTPFields {
    /// Adds the validators of a stored response to the conditions of a request.
    ///
    /// - Parameter stored: the header fields of the stored response.
    mutating func addValidators(of stored: HTTPFields) {
        guard SentValidators(of: stored, with: self) != .none else { return }
        if let tag = stored.validator(.eTag) { addTag(tag) }
        // The stored date is sent instead of the request's own. The cache itself evaluates the request's date, on the
        // resulting response.
        self[.ifModifiedSince] = stored.validator(.lastModified)
    }

    /// Adds the entity tags of other variants to the conditions of a request.
    ///
    /// - Parameter variants: the header fields of the variants.
    mutating func addTags(of variants: [HTTPFields]) {
        guard EntityTagList(self)?.isAny != true else { return }
        for tag in variants.compactMap({ $0.validator(.eTag) }) { addTag(tag) }
    }

    /// Whether the client accepts each content coding of a response. `*` stands for the codings that are not listed
    /// (RFC 9110 section 12.5.3).
    ///
    /// - Parameter response: the header fields of the response.
    func accepts(codingOf response: HTTPFields) -> Bool {
        let accepted = self[values: .acceptEncoding].flatMap(\.listElements).map { element in
            element.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
        }
        let codings = response[values: .contentEncoding].flatMap(\.listElements).filter { $0 != "identity" }
        return codings.allSatisfy { coding in
            let listed = accepted.filter { $0.first?.canonicalCoding == coding.canonicalCoding }
            return (listed.isEmpty ? accepted.filter { $0.first == "*" } : listed).contains { parts in
                !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
            }
        }
    }

    private mutating func addTag(_ tag: String) {
        let own = EntityTagList(self)
        guard own?.matches(tag) != true else { return }
        let tags = filter { $0.name == .ifNoneMatch }.map(\.byteText).filter { !$0.isEmpty } + [tag]
        set(.ifNoneMatch, byteText: tags.joined(separator: ", "))
    }
}

extension String {
    /// The name of a content coding without the prefix that old recipients send (RFC 9110 sections 8.4.1.1 and
    /// 8.4.1.3).
    fileprivate var canonicalCoding: String {
        switch self {
        case "x-gzip": "gzip"
        case "x-compress": "compress"
        default: self
        }
    }
}

/// The meaning of a 304 for the stored response and for the caller (RFC 9111 section 4.3.4). A value, computed without
/// I/O.
///
/// | sent | 304 | decision |
/// |---|---|---|
/// | any stored validator | names the stored response | confirm |
/// | the stored validators alone | names none | confirm |
/// | the stored validators alone | names another | ask again |
/// | tags of both | names a tag of the request, or another date than the stored one | pass |
/// | tags of both | names none, or an unknown tag | ask again |
/// | the request's conditions | names the stored response | pass, confirm |
/// | the request's conditions | anything else | pass |
/// | tags of other variants, too | has the tag of a variant | select |
/// | tags of other variants, too | has no tag, or an unknown one | ask again |
enum NotModifiedDecision: Hashable {
    /// The stored response is updated, and answers the request.
    case confirm
    /// Another variant is updated, and answers the request.
    ///
    /// - Parameter variant: its place among those whose tags were sent.
    case select(variant: Int)
    /// The 304 answers the caller.
    ///
    /// - Parameter isConfirming: whether it updates the stored response, too.
    case pass(isConfirming: Bool)
    /// The request is sent again without the stored validators. The stored response stays until a response supersedes
    /// it: it may be served if the server fails meanwhile.
    case askAgain

    /// Whether the 304 answers the caller.
    var isForCaller: Bool { if case .pass = self { true } else { false } }

    /// - Parameters:
    ///   - headers: the header fields of the 304.
    ///   - stored: the stored response; `nil` if the request selects none.
    ///   - variants: the other variants whose tags were sent, the most recent first.
    ///   - isValidating: whether the validators of the stored response were sent, as far as there are any.
    ///   - own: the header fields of the request, with the conditions of its own.
    init(
        _ headers: HTTPFields,
        stored: StoredResponse?,
        variants: [StoredResponse] = [],
        isValidating: Bool,
        own: HTTPFields
    ) {
        let tags = EntityTagList(own)
        // With `*`, no other tag is sent.
        guard !variants.isEmpty, tags?.isAny != true else {
            self =
                stored.map { Self(headers, stored: $0, isValidating: isValidating, own: own) }
                ?? .pass(isConfirming: false)
            return
        }
        guard let tag = headers.single(.eTag) else {
            self = .askAgain
            return
        }
        if let stored, isValidating, stored.isConfirmed(by: headers) {
            self = .confirm
        } else if let variant = variants.firstIndex(where: { $0.isNamed(by: headers) }) {
            self = .select(variant: variant)
        } else if tags?.matches(tag) == true {
            self = .pass(isConfirming: false)
        } else {
            self = .askAgain
        }
    }

    private init(_ headers: HTTPFields, stored: StoredResponse, isValidating: Bool, own: HTTPFields) {
        let isNaming = headers.contains(.eTag) || headers.contains(.lastModified)
        let isConfirmed = stored.isConfirmed(by: headers)
        switch isValidating ? SentValidators(of: stored.headers, with: own) : .none {
        case .none:
            let isAsked = own.contains(.ifNoneMatch) || own.contains(.ifModifiedSince)
            self = .pass(isConfirming: isAsked && isNaming && isConfirmed)
        case .stored: self = isConfirmed ? .confirm : .askAgain
        case .both:
            guard isNaming, !isConfirmed else {
                self = isNaming ? .confirm : .askAgain
                return
            }
            let isOwn = headers.byteText(.eTag).map { EntityTagList(own)?.matches($0) == true } ?? true
            self = isOwn ? .pass(isConfirming: false) : .askAgain
        }
    }
}
