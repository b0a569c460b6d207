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
/// method GET                             HEAD counts as GET
/// origin https://api.example.com         lower case; the port unless it is the scheme's own
/// path /cities                           dot segments removed, percent-encoding in one form
/// query country=DE                       each item, sorted by name; equal names keep their order
/// secret-query token DIGEST              each secret parameter, keyed digest
/// header accept application/json         each selecting header, sorted by name; equal names keep their order
/// secret-header authorization DIGEST     each credential, keyed digest; the URL's user info is one
/// type application/json                  the body's Content-Type, where there is a body
/// json {"a":1}                           a JSON body by RFC 8785 (secret-json and a digest with credentials), or
/// field a=1                              each item of a form, sorted like the query, or
/// bytes 12 DIGEST                        length and SHA-256 of anything else
/// ```
///
/// A name without a value (`?a`), an empty value (`?a=`) and an absent name are three different things; so are no body
/// and an empty one.
package struct CanonicalForm {
    package private(set) var bytes: [UInt8] = []
    private let rules: KeyRules

    package init(of request: Request, rules: KeyRules) throws(RequestError) {
        try self.init(of: WireRequest(request), rules: rules)
    }

    init(of request: WireRequest, rules: KeyRules) throws(RequestError) {
        self.rules = rules
        bytes.reserveCapacity(384)
        line("diamond", "1")
        line("method", request.method == .head ? "GET" : request.method.rawValue)
        line("origin", request.url.origin)
        line("path", request.url.path)
        addQuery(request.url.queryItems + request.parameterItems)
        addHeaders(request.headers, hasBody: request.body != nil)
        if let body = request.body { try addBody(body, contentType: request.headers[.contentType]) }
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package var key: RequestKey { RequestKey(of: bytes) }

    // MARK: Sections

    private mutating func addQuery(_ items: [QueryItem]) {
        let sorted = items.stablySorted
        for item in sorted where !isSecret(item) { line("query", item.bytes) }
        for item in sorted where isSecret(item) {
            line("secret-query", item.name + [0x20] + rules.digest(of: item.bytes).utf8)
        }
    }

    private func isSecret(_ item: QueryItem) -> Bool { item.value != nil && rules.isSecret(parameter: item.name) }

    private mutating func addHeaders(_ headers: HTTPFields, hasBody: Bool) {
        let selecting = headers.map { field in
            (name: field.name.canonicalName, value: field.value, isSecret: KeyRules.isCredential(field.name))
        }.filter { field in
            !KeyRules.nonSelectingHeaders.contains(field.name) && !(hasBody && field.name == "content-type")
        }
        let order = selecting.indices.sorted { (selecting[$0].name, $0) < (selecting[$1].name, $1) }
        for field in order.map({ selecting[$0] }) {
            if field.isSecret {
                line("secret-header", "\(field.name) \(rules.digest(of: field.value.utf8))")
            } else {
                line("header", "\(field.name) \(field.value)")
            }
        }
    }

    private mutating func addBody(_ body: RequestBody, contentType: String?) throws(RequestError) {
        line("type", contentType ?? "")
        switch body {
        case .json(let value): try addJSON(value)
        case .form(let parameters): addForm(try parameters.items())
        case .bytes(let data, _): addBytes(data)
        }
    }

    private mutating func addForm(_ items: [QueryItem]) {
        let sorted = items.stablySorted
        for item in sorted where !isSecret(item) { line("field", item.bytes) }
        for item in sorted where isSecret(item) {
            line("secret-field", item.name + [0x20] + rules.digest(of: item.bytes).utf8)
        }
    }

    private mutating func addJSON(_ value: JSONValue) throws(RequestError) {
        var writer = JSONWriter()
        do { try writer.write(value) } catch { throw RequestError(error) }
        guard !value.hasSecretMember else { return line("secret-json", rules.digest(of: writer.bytes)) }
        guard writer.isCanonical else { return addBytes(Data(writer.bytes)) }
        line("json", writer.bytes)
    }

    private mutating func addBytes(_ data: Data) {
        line("bytes", "\(data.count) \(Hex.text(of: SHA256.hash(data: data)))")
    }

    private mutating func line(_ tag: StaticString, _ content: String) { line(tag, content.utf8) }

    private mutating func line(_ tag: StaticString, _ content: some Sequence<UInt8>) {
        tag.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(0x20)
        bytes.append(contentsOf: content)
        bytes.append(0x0A)
    }
}
