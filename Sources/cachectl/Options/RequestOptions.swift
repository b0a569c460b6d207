#if Tools
import ArgumentParser
import Diamond
import DiamondCurlCommand
import Foundation
import HTTPTypes

/// A request from the command line: a URL, a request file or a curl command, and options that change it.
struct RequestOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A URL, a file with a request as JSON, - for standard input, or a curl command in quotes.",
            valueName: "URL|FILE"), completion: .file())
    var source: String

    @Option(
        name: .short,
        help: ArgumentHelp(
            "A parameter, repeatable: for the query of a GET, HEAD, DELETE, QUERY or a request with a body; otherwise "
                + "for a form. NAME alone has no value.",
            valueName: "NAME=VALUE"))
    var p: [String] = []

    @Option(name: .customShort("X"), help: ArgumentHelp("The method.", valueName: "METHOD"))
    var method: String?

    @Option(name: .customShort("H"), help: ArgumentHelp("A header; repeatable.", valueName: "NAME: VALUE"))
    var headers: [String] = []

    @Option(help: ArgumentHelp("A JSON body. The default method is then POST.", valueName: "TEXT"))
    var jsonBody: String?

    @Option(
        help: ArgumentHelp(
            "Cache policy: automatic, cacheElseNetwork, networkElseCache, staleWhileRevalidate, revalidate, cacheOnly, "
                + "reload or noStore.",
            valueName: "POLICY"),
        completion: .list(CachePolicy.Mode.allCases.map(\.rawValue)))
    var policy: String?

    @Option(help: ArgumentHelp("Freshness lifetime if the server gives none.", valueName: "SECONDS"))
    var maxAge: Double?

    @Option(
        help: ArgumentHelp(
            "The user of the request. Replaces credentials in the cache key.", valueName: "NAME"))
    var identity: String?

    @Option(help: ArgumentHelp("Maximum time without progress.", valueName: "SECONDS"))
    var timeout: Double?

    /// The key, if the source is one, and not a file: hexadecimal digits.
    var key: KeyArgument? {
        let isKey = !source.isEmpty && source.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
        return isKey && !FileManager.default.fileExists(atPath: source) ? KeyArgument(source) : nil
    }

    /// Whether options change the request of the source.
    var changesRequest: Bool {
        !p.isEmpty || !headers.isEmpty || [method, jsonBody, policy, identity].contains { $0 != nil }
            || maxAge != nil || timeout != nil
    }

    func request() throws -> Request { try request(source) }

    /// Returns the request of another source, changed by the same options.
    func request(_ source: String) throws -> Request { try changed(Self.base(source)) }

    /// Returns a request, changed by the options.
    func changed(_ base: Request) throws -> Request {
        var request = base
        for parameter in p { request.parameters.append(parsing: parameter) }
        if let method { request.method = try Self.method(method) }
        for header in headers { request.headers.append(try Self.field(header)) }
        if let jsonBody { request.body = try Self.body(jsonBody) }
        if jsonBody != nil, method == nil, request.method == .get { request.method = .post }
        if let policy { request.cache.mode = try Self.mode(policy) }
        if let maxAge { request.cache.maxAge = try Self.duration(maxAge, option: "--max-age") }
        if let identity { request.identity = identity }
        if let timeout { request.timeout = try Self.duration(timeout, option: "--timeout") }
        return request
    }

    static func base(_ source: String) throws(RequestError) -> Request {
        guard let text = try text(of: source) else {
            return isCommand(source) ? try Request(curl: source) : Request(source)
        }
        do {
            return try Request(json: text)
        } catch {
            throw RequestError(error.code, source == "-" ? error.message : "\(source): \(error.message)")
        }
    }

    // A source without a scheme is a file, never a relative URL.
    /// Returns the content of a file or of standard input; `nil` for a URL and a curl command.
    static func text(of source: String) throws(RequestError) -> Data? {
        guard source != "-" else { return try input() }
        guard !isCommand(source) else { return nil }
        guard !source.hasPrefix("{"), !source.hasPrefix("[") else {
            throw RequestError(
                .malformedRequest, "a request as JSON cannot be an argument: put it in a file, or pipe it to -")
        }
        guard !source.contains("://") else { return nil }
        guard let data = FileManager.default.contents(atPath: source) else { throw noSource(source) }
        return data
    }

    /// Returns the error for a source that is not a request. Shows the source only if it looks like a file name,
    /// because a header may contain a secret.
    private static func noSource(_ source: String) -> RequestError {
        let isName = source.allSatisfy { !$0.isWhitespace && !"\"':{}".contains($0) }
        let shown = isName ? RequestURL.masked(Array(source.utf8)) : "the source"
        return RequestError(.malformedURL, "\(shown) is neither a readable file nor a URL: begin a URL with https://")
    }

    private static func input() throws(RequestError) -> Data {
        do {
            return try FileHandle.standardInput.readToEnd() ?? Data()
        } catch {
            throw RequestError(.malformedRequest, "standard input cannot be read: pipe a request into it")
        }
    }

    /// Whether a source begins with `curl`, or with the `printf` that pipes a body into it.
    private static func isCommand(_ source: String) -> Bool {
        let words = source.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        return words.count == 2 && ["curl", "printf"].contains(words[0])
    }

    private static func method(_ token: String) throws(RequestError) -> HTTPRequest.Method {
        guard let method = HTTPRequest.Method(token) else {
            throw RequestError(.malformedMethod, "'\(token)' is not a method: give one word such as GET")
        }
        return method
    }

    private static func field(_ text: String) throws(RequestError) -> HTTPField {
        guard let colon = text.firstIndex(of: ":") else {
            throw RequestError(.malformedHeader, "a header given with -H has no colon: write 'Name: value'")
        }
        let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        return try HTTPField(checking: String(text[..<colon]), value)
    }

    private static func body(_ text: String) throws(RequestError) -> RequestBody {
        do {
            return try .json(text: text)
        } catch {
            throw RequestError(error.code, "--json-body: \(error.message)")
        }
    }

    private static func mode(_ name: String) throws(RequestError) -> CachePolicy.Mode {
        guard let mode = CachePolicy.Mode(rawValue: name) else {
            let names = CachePolicy.Mode.allCases.map(\.rawValue).joined(separator: ", ")
            throw RequestError(.malformedRequest, "'\(name)' is not a policy: give one of \(names)")
        }
        return mode
    }

    private static func duration(_ seconds: Double, option: String) throws(RequestError) -> Duration {
        guard (0...3_000_000_000).contains(seconds) else {
            throw RequestError(.malformedRequest, "\(option) must be a number of seconds from 0 to 3000000000")
        }
        return .seconds(seconds)
    }
}

extension Parameters {
    fileprivate mutating func append(parsing text: String) {
        // Split by scalars: a combining character after the sign would be part of its `Character`.
        let parts = text.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        append(String(parts[0]), parts.count > 1 ? JSONValue.string(String(parts[1])) : JSONValue.null)
    }
}
#endif
