import Crypto
import Foundation
import HTTPTypes

/// The text whose digest is a request's identity, version 1.
///
/// One fact a line, `TAG CONTENT`, in this order; no content holds a line feed, so that nothing can pass for anything
/// else:
///
/// ```
/// diamond 1                              the version
/// identity user-42                       on whose behalf, in place of the credentials; percent-encoded
/// cache-key cities                       a key of the app's own, in place of all below that is no credential
/// method GET                             HEAD counts as GET
/// origin https://api.example.com         lower case; the port unless it is the scheme's own
/// path /cities                           dot segments removed, percent-encoding in one form
/// query country=DE                       each item, sorted by name; equal names keep their order
/// secret-query token DIGEST              each secret parameter, keyed digest
/// header accept application/json         each selecting header, sorted by name; equal names keep their order
/// secret-header authorization DIGEST     each credential, keyed digest; the URL's user info is one
/// credential header a Bearer%20 token    each named secret: its place and prefix, and its name
/// type application/json                  the body's Content-Type, where there is a body
/// json {"a":1}                           a JSON body by RFC 8785 (secret-json and a digest with credentials), or
/// field a=1                              each item of a form, sorted like the query, or
/// part name=a 12 DIGEST                  each part of a multipart body, in order: its facts, length and SHA-256, or
/// bytes 12 DIGEST                        length and SHA-256 of anything else, files among it
/// ```
///
/// A name without a value (`?a`), an empty value (`?a=`) and an absent name are three different things; so are no body
/// and an empty one.
package struct CanonicalForm {
    package private(set) var bytes: [UInt8] = []
    private let rules: KeyRules
    private let hasIdentity: Bool
    private let hasCacheKey: Bool

    package init(of request: Request, rules: KeyRules) throws(RequestError) {
        try self.init(of: WireRequest(request), rules: rules)
    }

    init(of request: WireRequest, rules: KeyRules) throws(RequestError) {
        self.rules = rules.adding(request)
        hasIdentity = request.identity != nil
        hasCacheKey = request.cacheKey != nil
        bytes.reserveCapacity(384)
        line("diamond", "1")
        if let identity = request.identity { line("identity", PercentEncoding.encode(identity.utf8)) }
        if let key = request.cacheKey {
            line("cache-key", PercentEncoding.encode(key.utf8))
        } else {
            addTarget(request)
        }
        let items = request.url.queryItems + request.parameterItems
        addItems(items, "query", secret: "secret-query", filled: request.filledItems)
        addHeaders(request.headers, hasBody: request.body != nil)
        addCredentials(request.namedCredentials)
        if let body = request.body { try addBody(body, of: request) }
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package var key: RequestKey { RequestKey(of: bytes) }

    // MARK: Sections

    private mutating func addTarget(_ request: WireRequest) {
        line("method", request.method == .head ? "GET" : request.method.rawValue)
        line("origin", request.url.origin)
        line("path", request.url.path)
    }

    /// Items of a query or a form, the secret ones behind the others.
    ///
    /// - Parameter filled: secrets that were filled in.
    private mutating func addItems(
        _ items: [QueryItem],
        _ tag: StaticString,
        secret secretTag: StaticString,
        filled: [QueryItem] = []
    ) {
        var secrets: [QueryItem] = []
        for item in items.stablySorted where !rules.isIgnored(parameter: item.name) {
            if isSecret(item) { secrets.append(item) } else if !hasCacheKey { line(tag, item) }
        }
        if !hasIdentity { secrets += filled }
        for item in secrets.stablySorted where !(hasIdentity && rules.isReplaced(parameter: item.name)) {
            line(secretTag, item.name + [0x20] + rules.digest(of: item.bytes).utf8)
        }
    }

    private func isSecret(_ item: QueryItem) -> Bool { item.value != nil && rules.isSecret(parameter: item.name) }

    private mutating func addHeaders(_ headers: HTTPFields, hasBody: Bool) {
        let selecting = headers.filter { field in
            rules.isSelecting(field.name.canonicalName) && !(hasBody && field.name == .contentType)
                && !(hasIdentity && rules.isReplaced(field.name))
        }
        let order = selecting.indices.sorted {
            (selecting[$0].name.canonicalName, $0) < (selecting[$1].name.canonicalName, $1)
        }
        for field in order.map({ selecting[$0] }) {
            if rules.isCredential(field.name) {
                line("secret-header", "\(field.name.canonicalName) \(rules.digest(of: field.value.utf8))")
            } else if !hasCacheKey {
                line("header", "\(field.name.canonicalName) \(field.value)")
            }
        }
    }

    private mutating func addCredentials(_ credentials: [Credential]) {
        let lines = credentials.map { credential in
            let secret = PercentEncoding.encode((credential.secret.name ?? "").utf8)
            switch credential.place {
            case .header(let name, let prefix):
                let prefix = PercentEncoding.encode(prefix.utf8)
                return Array("header \(name.canonicalName) ".utf8) + prefix + [0x20] + secret
            case .parameter(let name):
                return Array("parameter ".utf8) + PercentEncoding.encode(name.utf8) + [0x20] + secret
            }
        }
        for content in lines.sorted(by: { $0.lexicographicallyPrecedes($1) }) { line("credential", content) }
    }

    private mutating func addBody(_ body: RequestBody, of request: WireRequest) throws(RequestError) {
        if !hasCacheKey { line("type", request.headers[.contentType] ?? "") }
        switch body {
        case .json(let value): try addJSON(value)
        case .form(let parameters):
            addItems(try parameters.items(request.encoding), "field", secret: "secret-field")
        case .bytes(let data, _): if !hasCacheKey { addBytes(data) }
        case .file(let url, _): if !hasCacheKey { line("bytes", try FileDigest.text(of: url)) }
        case .multipart(let parts): for part in parts { try addPart(part) }
        }
    }

    private mutating func addJSON(_ value: JSONValue) throws(RequestError) {
        let secrets = hasIdentity ? rules.own.secrets : []
        let value = value.removing(IdentityRules(ignoring: rules.own.ignoring, secrets: secrets))
        let isSecret = value.hasSecretMember(rules)
        guard isSecret || !hasCacheKey else { return }
        var writer = JSONWriter()
        do { try writer.write(value) } catch { throw RequestError(error) }
        guard !isSecret else { return line("secret-json", rules.digest(of: writer.bytes)) }
        guard writer.isCanonical else { return addBytes(Data(writer.bytes)) }
        line("json", writer.bytes)
    }

    private mutating func addPart(_ part: MultipartPart) throws(RequestError) {
        let name = PercentEncoding.encode(part.name.utf8)
        guard !rules.isIgnored(parameter: name) else { return }
        let isSecret = rules.isSecret(parameter: name)
        guard isSecret || !hasCacheKey, !(hasIdentity && rules.isReplaced(parameter: name)) else { return }
        var content = Array("name=".utf8) + name
        if let filename = part.filename { content += " filename=".utf8 + PercentEncoding.encode(filename.utf8) }
        if let type = part.contentType { content += " type=".utf8 + PercentEncoding.encode(type.utf8) }
        switch part.content {
        case .bytes(let data): content += " \(data.count) \(Hex.text(of: SHA256.hash(data: data)))".utf8
        case .file(let url): content += " \(try FileDigest.text(of: url))".utf8
        }
        guard isSecret else { return line("part", content) }
        line("secret-part", name + [0x20] + rules.digest(of: content).utf8)
    }

    private mutating func addBytes(_ data: Data) {
        line("bytes", "\(data.count) \(Hex.text(of: SHA256.hash(data: data)))")
    }

    private mutating func line(_ tag: StaticString, _ item: QueryItem) {
        tag.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(0x20)
        bytes.append(contentsOf: item.name)
        if let value = item.value {
            bytes.append(UInt8(ascii: "="))
            bytes.append(contentsOf: value)
        }
        bytes.append(0x0A)
    }

    private mutating func line(_ tag: StaticString, _ content: String) { line(tag, content.utf8) }

    private mutating func line(_ tag: StaticString, _ content: some Sequence<UInt8>) {
        tag.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(0x20)
        bytes.append(contentsOf: content)
        bytes.append(0x0A)
    }
}
