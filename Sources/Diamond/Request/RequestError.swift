import Foundation

/// A mistake in a request, with its place and the remedy.
public struct RequestError: MessageError, Hashable, Sendable {
    /// The kinds of mistake; later versions may add some.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The URL is not an absolute `http` or `https` URL by RFC 3986.
        public static let malformedURL = Code(description: "malformedURL")
        /// A header's name or value cannot be sent (RFC 9110 section 5).
        public static let malformedHeader = Code(description: "malformedHeader")
        /// A parameter has no form on the wire, such as a number that is not finite.
        public static let malformedParameter = Code(description: "malformedParameter")
        /// The text is not JSON (RFC 8259).
        public static let malformedJSON = Code(description: "malformedJSON")
        /// The text is JSON, but two readers could read it differently (RFC 7493): a name twice, a lone surrogate,
        /// a number that is larger than any double.
        public static let ambiguousJSON = Code(description: "ambiguousJSON")
        /// The JSON is not a request: a key is missing, unknown, or of the wrong type. Also: the request of an upload
        /// has a body of its own, or its body can be read only once and was read.
        public static let malformedRequest = Code(description: "malformedRequest")
        /// A file of the body cannot be read, or changed after its fingerprint was taken.
        public static let unreadableFile = Code(description: "unreadableFile")
        /// The request contains a secret without a name, which has no written form.
        public static let unnamedSecret = Code(description: "unnamedSecret")
        /// The method is not a token (RFC 9110 section 9.1).
        package static let malformedMethod = Code(description: "malformedMethod")
        /// The text is not a `curl` command, or uses an option that a request does not support.
        public static let malformedCurl = Code(description: "malformedCurl")
    }

    /// The kind of mistake.
    public let code: Code
    /// The mistake and the remedy, in one line, without secrets.
    public let message: String

    /// Creates an error, for tests and for mistakes of an app's own.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message.printable
    }

    init(_ error: JSONError) {
        let codes: [JSONError.Code: Code] = [.malformed: .malformedJSON, .ambiguous: .ambiguousJSON]
        self.init(codes[error.code] ?? .malformedParameter, error.message)
    }

    init(_ error: MalformedURL) { self.init(.malformedURL, error.message) }
}

extension JSONValue {
    /// Returns the value of a JSON text.
    static func read(
        _ text: some Sequence<UInt8>, maximumDepth: Int = JSONTape.maximumDepth
    ) throws(RequestError) -> JSONValue {
        do { return try JSONValue(reading: text, maximumDepth: maximumDepth) } catch {
            throw RequestError(error)
        }
    }

    /// Returns the JSON text of the value, in the form of RFC 8785.
    func written() throws(RequestError) -> [UInt8] {
        do { return try JSONWriter.text(of: self) } catch { throw RequestError(error) }
    }
}

extension RequestURL {
    /// Creates the URL that a request is sent to.
    package init(_ text: String) throws(RequestError) {
        do { try self.init(parsing: text) } catch { throw RequestError(error) }
    }
}
