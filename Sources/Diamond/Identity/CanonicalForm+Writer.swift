import Crypto
import Foundation
import HTTPTypes

extension CanonicalForm {
    /// A writer of the canonical form.
    ///
    /// The rules are passed to each section, because as a property they would be copied for each.
    struct Writer: ~Copyable {
        var bytes: [UInt8] = []
        /// Whether the identity replaces the credentials.
        let replacesCredentials: Bool
        let hasCacheKey: Bool

        private init(of request: borrowing WireRequest) {
            replacesCredentials = request.replacesCredentials
            hasCacheKey = request.cacheKey != nil
            bytes.reserveCapacity(480)
        }

        /// Returns the canonical form of a request.
        ///
        /// - Parameter rules: the engine's rules. The request's own are added.
        static func form(of request: borrowing WireRequest, rules: KeyRules) throws(RequestError) -> [UInt8] {
            var writer = Writer(of: request)
            if request.hasRules {
                try writer.write(request, rules: rules.adding(request))
            } else {
                try writer.write(request, rules: rules)
            }
            return writer.bytes
        }

        private mutating func write(_ request: borrowing WireRequest, rules: KeyRules) throws(RequestError) {
            bytes.append(atMost: 10) { $0.write("diamond 1\n") }
            if let identity = request.identity { addLine("identity", content: PercentEncoding.encode(identity.utf8)) }
            if let key = request.cacheKey {
                addLine("cache-key", content: PercentEncoding.encode(key.utf8))
            } else {
                addTarget(request)
            }
            addItems(request.items, of: .query, filled: request.filledItems, rules: rules)
            addHeaders(request.headers, hasBody: request.body != nil, rules: rules)
            if !request.credentials.isEmpty { addCredentials(request.namedCredentials) }
            if let body = request.body { try addBody(body, of: request, rules: rules) }
        }
    }
}

// MARK: Sections

extension CanonicalForm.Writer {
    private mutating func addTarget(_ request: borrowing WireRequest) {
        let method = request.method == .head ? "GET" : request.method.rawValue
        method.withBytes { method in
            request.url.withParts { origin, path in
                bytes.append(atMost: method.count + origin.count + path.count + 24) { lines in
                    lines.write(line: "method", method)
                    lines.write(line: "origin", origin)
                    lines.write(line: "path", path)
                }
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
        for content in lines.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            addLine("credential", content: content)
        }
    }

    private mutating func addBody(
        _ body: RequestBody,
        of request: borrowing WireRequest,
        rules: KeyRules
    ) throws(RequestError) {
        if !hasCacheKey { addLine("type", content: request.headers[.contentType] ?? "") }
        switch body {
        case .json(let value): try addJSON(value, rules: rules)
        case .jsonText(let json): try addJSON(json.value, rules: rules)
        case .form(let parameters):
            addItems(try parameters.items(request.encoding), of: .form, rules: rules)
        case .bytes(let data, _): if !hasCacheKey { addBytes(data) }
        case .file(let url, _): if !hasCacheKey { addLine("bytes", content: try FileDigest.text(of: url)) }
        case .multipart(let parts): for part in parts { try addPart(part, rules: rules) }
        }
    }

    @inline(never)
    private mutating func addJSON(_ value: JSONValue, rules: KeyRules) throws(RequestError) {
        let secrets = replacesCredentials ? rules.own.secrets : []
        let value = value.removing(IdentityRules(ignoring: rules.own.ignoring, secrets: secrets))
        let isSecret = value.hasSecretMember(rules)
        guard isSecret || !hasCacheKey else { return }
        var writer = JSONWriter()
        writer.write(value)
        let text: [UInt8]
        do { text = try writer.text() } catch { throw RequestError(error) }
        guard !isSecret else { return addLine("secret-json", content: rules.digest(of: text)) }
        guard writer.isCanonical else { return addBytes(Data(text)) }
        addLine("json", content: text)
    }

    private mutating func addPart(_ part: MultipartPart, rules: KeyRules) throws(RequestError) {
        let name = PercentEncoding.encode(part.name.utf8)
        guard !rules.isIgnored(parameter: name.span) else { return }
        let isSecret = rules.isSecret(parameter: name.span)
        guard isSecret || !hasCacheKey, !(replacesCredentials && rules.isReplaced(parameter: name.span)) else { return }
        var content = Array("name=".utf8) + name
        if let filename = part.filename { content += " filename=".utf8 + PercentEncoding.encode(filename.utf8) }
        if let type = part.contentType { content += " type=".utf8 + PercentEncoding.encode(type.utf8) }
        switch part.content {
        case .bytes(let data): content += " \(data.count) \(Hex.text(of: SHA256.hash(data: data)))".utf8
        case .file(let url): content += " \(try FileDigest.text(of: url))".utf8
        }
        guard isSecret else { return addLine("part", content: content) }
        addLine("secret-part", content: name + [0x20] + rules.digest(of: content).utf8)
    }

    private mutating func addBytes(_ data: Data) {
        addLine("bytes", content: "\(data.count) \(Hex.text(of: SHA256.hash(data: data)))")
    }
}

// MARK: Lines

extension CanonicalForm.Writer {
    mutating func addLine(_ tag: StaticString, content: Span<UInt8>) {
        bytes.append(atMost: tag.utf8CodeUnitCount + content.count + 2) { $0.write(line: tag, content) }
    }

    mutating func addLine(_ tag: StaticString, name: Span<UInt8>, value: Span<UInt8>) {
        bytes.append(atMost: tag.utf8CodeUnitCount + name.count + value.count + 3) {
            $0.write(line: tag, name: name, value: value)
        }
    }

    mutating func addLine(_ tag: StaticString, content: String) {
        content.withBytes { addLine(tag, content: $0) }
    }

    mutating func addLine(_ tag: StaticString, content: some Sequence<UInt8>) {
        addLine(tag, content: Array(content).span)
    }
}

extension ByteWriter {
    @inline(__always)
    mutating func write(line tag: StaticString, _ content: Span<UInt8>) {
        write(atMost: tag.utf8CodeUnitCount + content.count + 2) { line in
            line.adding(tag).adding(0x20).adding(content).adding(0x0A)
        }
    }

    @inline(__always)
    mutating func write(line tag: StaticString, name: Span<UInt8>, value: Span<UInt8>) {
        write(atMost: tag.utf8CodeUnitCount + name.count + value.count + 3) { line in
            line.adding(tag).adding(0x20).adding(name).adding(0x20).adding(value).adding(0x0A)
        }
    }
}
