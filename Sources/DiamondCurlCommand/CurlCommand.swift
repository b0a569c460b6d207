import Diamond
import Foundation
import HTTPTypes

/// A builder for the `curl` command of a request, for a POSIX shell.
struct CurlCommand {
    private let request: WireRequest
    /// Whether the URL's user info becomes the `Authorization` header, because the request has none itself.
    private let hasUserInfo: Bool
    private let rules: KeyRules
    private var variables = ShellVariables()
    private var words = ["curl"]
    /// The format of the `printf` that is piped into the command.
    private var input: String?

    init(_ request: Request) throws(RequestError) {
        self.request = try WireRequest(request)
        rules = KeyRules().adding(self.request)
        hasUserInfo = self.request.url.userInfo != nil && !request.namesAuthorization
    }

    mutating func text() throws(RequestError) -> String {
        try addMethod()
        addURL()
        if hasUserInfo { add("-u", "\"$\(variables.name(for: "USERINFO"))\"") }
        for field in request.headers { try add(field) }
        for credential in request.namedCredentials { add(credential) }
        if let body = request.body { try add(body) }
        return (input.map { "printf '\($0)' | " } ?? "") + words.joined(separator: " ")
    }

    private mutating func add(_ words: String...) { self.words += words }

    private mutating func addMethod() throws(RequestError) {
        let method = request.method
        guard method != .head else { return try addHead() }
        guard method != (request.body == nil ? .get : .post) else { return }
        let isWord = method.rawValue.utf8.allSatisfy { ("A"..."Z").contains(Unicode.Scalar($0)) }
        add("-X", isWord ? method.rawValue : ShellText(method.rawValue.utf8).quoted)
    }

    private mutating func addHead() throws(RequestError) {
        guard request.body == nil else {
            throw RequestError(.malformedRequest, "a HEAD request has no body: leave it out, or use another method")
        }
        add("--head")
    }

    /// Adds the URL. It contains no dot segments, which curl would remove.
    private mutating func addURL() {
        let text = request.url.text(adding: request.parameterItems)
        if text.utf8.contains(UInt8(ascii: "[")) || text.utf8.contains(UInt8(ascii: "]")) { add("--globoff") }
        var word = ShellText()
        let parts = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        word.append(parts[0])
        if parts.count == 2 { addItems(Array(parts[1]), after: "?", to: &word) }
        addParameters(after: parts.count == 2 ? "&" : "?", to: &word)
        add(word.quoted)
    }

    /// Adds the items of a query or a form. A secret item has a variable in place of its encoded value.
    private mutating func addItems(_ items: [UInt8], after mark: String, to word: inout ShellText) {
        var mark = mark
        for item in QueryItem.items(of: items) {
            let isSecret = rules.isSecret(item)
            word.append(mark.utf8 + (isSecret ? item.name + [UInt8(ascii: "=")] : item.text))
            if isSecret { word.append(variable: variable(for: item.name)) }
            mark = "&"
        }
    }

    /// Adds the secret parameters. Each value is a variable named after the secret, or else after the parameter.
    private mutating func addParameters(after mark: String, to word: inout ShellText) {
        var mark = mark
        for credential in request.credentials {
            guard case .parameter(let name) = credential.place else { continue }
            word.append(mark.utf8 + PercentEncoding.encode(name.utf8) + [UInt8(ascii: "=")])
            word.append(variable: variables.name(for: credential.secret.name ?? name))
            mark = "&"
        }
    }

    private mutating func variable(for name: ArraySlice<UInt8>) -> String {
        let name = String(decoding: name, as: UTF8.self)
        return variables.name(for: name.removingPercentEncoding ?? name)
    }

    // MARK: Headers

    private mutating func add(_ field: HTTPField) throws(RequestError) {
        // curl sets the framing fields from the body, and would send these in addition.
        guard field.name != .contentLength, field.name != .transferEncoding else { return }
        // curl also sets the type of a multipart form, with its boundary.
        if case .multipart = request.body, field.name == .contentType { return }
        guard field.name != .authorization || !hasUserInfo else { return }
        guard !field.value.isEmpty else { return add("-H", ShellText("\(field.name.rawName);".utf8).quoted) }
        guard HTTPField.isValidValue(field.value) else {
            throw RequestError(
                .malformedHeader, "the value of the header \(field.name.rawName) has a control character: remove it")
        }
        add("-H", rules.isCredential(field.name) ? secretHeader(field) : ShellText(headerLine(field).utf8).escaped)
    }

    /// Adds a header with a named secret. It is a variable named after the secret.
    private mutating func add(_ credential: Credential) {
        guard case .header(let name, let prefix) = credential.place else { return }
        var word = ShellText("\(name.rawName): \(prefix)".utf8)
        word.append(variable: variables.name(for: credential.secret.name ?? name.rawName))
        add("-H", word.escaped)
    }

    private func headerLine(_ field: HTTPField) -> String { "\(field.name.rawName): \(field.value)" }

    private mutating func secretHeader(_ field: HTTPField) -> String {
        var word = ShellText("\(field.name.rawName): \(Self.scheme(of: field))".utf8)
        word.append(variable: variables.name(for: field.name.rawName))
        return word.quoted
    }

    /// Returns the authentication scheme and a space (RFC 9110 section 11.4); empty without a known scheme.
    private static func scheme(of field: HTTPField) -> String {
        guard [.authorization, .proxyAuthorization].contains(field.name) else { return "" }
        let word = field.value.prefix { $0 != " " }
        return schemes.contains(word.lowercased()) && word.count < field.value.count ? word + " " : ""
    }

    private static let schemes: Set<String> = [
        "apikey", "aws4-hmac-sha256", "basic", "bearer", "digest", "dpop", "hmac", "negotiate", "token",
    ]

    // MARK: Body

    private mutating func add(_ body: RequestBody) throws(RequestError) {
        if case .file(let url, _) = body { return try addFile(url) }
        if case .multipart(let parts) = body { return try add(parts) }
        let type = request.headers[.contentType]
        // Otherwise curl would add the type of a form.
        if type == nil { add("-H", "'Content-Type:'") }
        let bytes = Array(try body.encoded(request.encoding))
        guard !rules.hasSecretMember(body, bytes: bytes, type: type) else { return addHidden() }
        var word = ShellText()
        if body.isForm(as: type) { addItems(bytes, after: "", to: &word) } else { word.append(bytes) }
        let isText = String(validating: bytes, as: UTF8.self)?.isPrintable == true
        if isText { return add("--data-raw", word.quoted) }
        guard !word.hasVariables else { return addHidden() }
        input = PrintfFormat.text(of: bytes)
        add("--data-binary", "@-")
    }

    private mutating func add(_ parts: [MultipartPart]) throws(RequestError) {
        guard !parts.isEmpty else {
            throw RequestError(.malformedRequest, "a multipart body without parts is not sent by curl: add one")
        }
        for part in parts {
            let variable = rules.isSecret(part) ? variables.name(for: part.name) : nil
            words += try CurlPart(part, variable: variable).words
        }
    }

    private mutating func addFile(_ url: URL) throws(RequestError) {
        guard !url.path.utf8.contains(0), url.path.utf8.last != UInt8(ascii: "\n") else {
            throw RequestError(
                .malformedRequest, "the path of the body has a NUL, or ends in a line break: rename the file")
        }
        if request.headers[.contentType] == nil { add("-H", "'Content-Type:'") }
        add("--data-binary", ShellText("@\(url.path)".utf8).escaped)
    }

    private mutating func addHidden() { add("--data-raw", "\"$\(variables.name(for: "BODY"))\"") }
}

extension Request {
    fileprivate var namesAuthorization: Bool {
        headers[.authorization] != nil
            || credentials.contains { if case .header(.authorization, _) = $0.place { true } else { false } }
    }
}
