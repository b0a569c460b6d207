import Testing

/// Features that the library below a transport lacks, in words. Every transport fulfills the rest of the contract.
///
/// A test also runs the listed parts, and fails when the shortcoming is gone.
enum Shortcoming: String {
    case fieldsOfItsOwn = """
        adds fields that were not set: Accept, Accept-Language, Connection, User-Agent, and for POST a Content-Type
        """
    case repeatedFields = "joins repeated fields with commas"
    case fieldOrder = "gives the fields in no order, their names capitalized"
    case latinFields = "cannot read fields that are not UTF-8: it fails, or puts U+FFFD in place of what it cannot read"
    case foldedLines = "refuses a head with folded lines as invalid HTTP"
    case codedBody = "decodes a body even when the request names its codings itself"
    case bodyWithGet = "sends no body with GET"
    case bodyWithTrace = "sends no body with TRACE"
    case lengthOfNothing = "says Content-Length: 0 for OPTIONS without a body"
    case truncatedChunks = "tells a body without its last chunk as a broken connection"
    case resetBody = "tells a reset in a body of known length as its truncation"
    case refusedCoding = "removes codings and does not tell their ends: it asks for none, and coded bodies are refused"
    case trailers = "ends the process where a body has trailers"
    case unseenSize = "tells a head that is too large as a broken connection, and does not count its fields"
    case unseenChunks = "tells chunks that are none as a broken connection"
    case unseenConnection = """
        does not tell when a connection stands: connectTimeout is not kept, and what was canceled may have been sent
        """
    case lookUpGivenUp =
        "holds up every exchange of the process after one canceled in a name lookup, until the lookup ends"
    case repeatedRequest = "repeats a POST when a kept connection turns out to be closed"
    case unseenExpansion = "does not tell how many bytes of a coded body have come: only its size is bounded"
    case unseenRefusal = "does not tell that a server refused a request that is not repeated unasked"
    case unseenGoAway = "does not tell that a request came after the last one that a GOAWAY counts"
    case quietReset = "takes a reset that says NO_ERROR for the end of a body of no known length"
    case lateReset = "resets the stream of what was canceled with the next exchange on the connection"
    case chosenConnection = "sends on whatever connection is there, after a 421 as well"
    case slowReading = "holds a body that is read more slowly than it comes in memory"
    case unaskedBytes = "takes bytes that come on an idle connection for the response to the next request"
    case repeatedOften = "repeats a request that gets no response on each idle connection, five times at most"
    case lengthWithChunks = "refuses a response that has both a length and chunks"
    case blankBeforeColon = "refuses a field with a blank before the colon"
    case unseenLines = "tells a line that is no field as a broken connection"
    case oldTLS = "offers TLS before 1.2, and cannot be told not to"
    case endlessExtensions = "does not limit the extensions of chunks: only the timeout ends the exchange"
    case streamedUpload = "holds the body of a request in memory whole, and sends its length even when none is known"
}

extension TransportKind {
    private var shortcomings: Set<Shortcoming> {
        switch self {
        #if Curl && os(Linux)
        case .curl: [.unseenRefusal, .unseenGoAway, .quietReset, .lateReset]
        #endif
        #if AsyncHTTPClient
        case .httpClient:
            [
                .latinFields, .foldedLines, .bodyWithTrace, .lengthOfNothing, .unseenGoAway, .chosenConnection,
                .lengthWithChunks, .blankBeforeColon,
            ]
        #endif
        #if os(Linux)
        case .urlSession:
            [
                .fieldsOfItsOwn, .repeatedFields, .fieldOrder, .latinFields, .refusedCoding, .bodyWithGet,
                .truncatedChunks, .resetBody, .unseenConnection, .trailers, .unseenSize, .unseenChunks,
                .lookUpGivenUp, .repeatedRequest, .slowReading, .streamedUpload, .unaskedBytes, .repeatedOften, .oldTLS,
                .endlessExtensions, .blankBeforeColon, .unseenLines,
            ]
        #else
        case .urlSession:
            [
                .fieldsOfItsOwn, .repeatedFields, .fieldOrder, .codedBody, .bodyWithGet, .unseenConnection,
                .streamedUpload, .unseenExpansion,
            ]
        #endif
        }
    }

    private var library: String {
        switch self {
        #if Curl && os(Linux)
        case .curl: "libcurl"
        #endif
        #if AsyncHTTPClient
        case .httpClient: "async-http-client"
        #endif
        case .urlSession: "URLSession"
        }
    }

    /// Runs a part of a test that must fail where there is this shortcoming.
    func withShortcoming(
        _ shortcoming: Shortcoming,
        if isConcerned: Bool = true,
        _ body: () throws -> Void
    ) rethrows {
        try withKnownIssue("\(library) \(shortcoming.rawValue)") {
            try body()
        } when: {
            isConcerned && shortcomings.contains(shortcoming)
        }
    }

    func withShortcoming(
        _ shortcoming: Shortcoming,
        if isConcerned: Bool = true,
        _ body: () async throws -> Void
    ) async rethrows {
        try await withKnownIssue("\(library) \(shortcoming.rawValue)") {
            try await body()
        } when: {
            isConcerned && shortcomings.contains(shortcoming)
        }
    }

    /// Runs a part of a test only where there is not this shortcoming, because it would never end, or end the process.
    func withShortcoming(_ shortcoming: Shortcoming, isHanging: Bool, _ body: () async throws -> Void) async rethrows {
        guard shortcomings.contains(shortcoming) else { return try await body() }
        withKnownIssue("\(library) \(shortcoming.rawValue)") {
            Issue.record("not run, because it would not end, or end the process")
        }
    }
}
