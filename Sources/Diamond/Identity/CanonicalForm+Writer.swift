import Crypto
import Foundation
import HTTPTypes

extension CanonicalForm {
    /// Writes a form from its first line to its last.
    ///
    /// Cannot be copied, for a copy would copy the rules with every section.
    struct Writer: ~Copyable {
        private(set) var bytes: [UInt8] = []
        private let rules: KeyRules
        private let hasIdentity: Bool
        private let hasCacheKey: Bool

        init(_ rules: consuming KeyRules, of request: borrowing WireRequest) {
            self.rules = rules
            hasIdentity = request.identity != nil
            hasCacheKey = request.cacheKey != nil
            bytes.reserveCapacity(480)
        }

        mutating func write(_ request: borrowing WireRequest) throws(RequestError) {
            line("diamond", "1")
            if let identity = request.identity { line("identity", PercentEncoding.encode(identity.utf8)) }
            if let key = request.cacheKey {
                line("cache-key", PercentEncoding.encode(key.utf8))
            } else {
                addTarget(request)
            }
            addItems(request.items, "query", secret: "secret-query", filled: request.filledItems)
            addHeaders(request.headers, hasBody: request.body != nil)
            if !request.credentials.isEmpty { addCredentials(request.namedCredentials) }
            if let body = request.body { try addBody(body, of: request) }
        }
    }
}

// MARK: Sections

extension CanonicalForm.Writer {
    private mutating func addTarget(_ request: borrowing WireRequest) {
        line("method", request.method == .head ? "GET" : request.method.rawValue)
        line("origin", request.url.origin.span)
        line("path", request.url.path.span)
    }

    /// Items of a query or a form, the secret ones behind the others.
    ///
    /// - Parameter filled: secrets that were filled in.
    private mutating func addItems(
        _ items: QueryItems,
        _ tag: StaticString,
        secret secretTag: StaticString,
        filled: QueryItems = QueryItems()
    ) {
        var all = items
        if !hasIdentity { all.append(contentsOf: filled) }
        let text = all.bytes
        all.withSortedPlaces { places in
            for index in places.indices {
                let item = places[index]
                let isFilled = !filled.isEmpty && item.range.lowerBound >= items.bytes.count
                guard isFilled || !rules.isIgnored(parameter: text.span.extracting(item.name)) else { continue }
                places[index].isMarked = isFilled || isSecret(item, text.span)
                if !places[index].isMarked, !hasCacheKey { line(tag, text.span.extracting(item.range)) }
            }
            for item in places where item.isMarked { add(secret: item, of: text.span, secretTag) }
        }
    }

    private func isSecret(_ item: QueryItems.Place, _ text: Span<UInt8>) -> Bool {
        item.hasValue && rules.isSecret(parameter: text.extracting(item.name))
    }

    private mutating func add(secret item: QueryItems.Place, of text: Span<UInt8>, _ tag: StaticString) {
        let name = text.extracting(item.name)
        guard !(hasIdentity && rules.isReplaced(parameter: name)) else { return }
        line(tag, text.array(item.name) + [0x20] + rules.digest(of: text.array(item.range)).utf8)
    }

    private mutating func addHeaders(_ headers: HTTPFields, hasBody: Bool) {
        // On the stack, unless there are many.
        withUnsafeTemporaryAllocation(of: Int.self, capacity: headers.count) { buffer in
            var count = 0
            for index in headers.indices where selects(headers[index].name, hasBody: hasBody) {
                buffer.initializeElement(at: count, to: index)
                count += 1
            }
            var order = UnsafeMutableBufferPointer(rebasing: buffer[..<count])
            if count > 1 {
                order.sort { (headers[$0].name.canonicalName, $0) < (headers[$1].name.canonicalName, $1) }
            }
            for index in order { add(headers[index]) }
        }
    }

    private func selects(_ name: HTTPField.Name, hasBody: Bool) -> Bool {
        rules.isSelecting(name.canonicalName) && !(hasBody && name == .contentType)
            && !(hasIdentity && rules.isReplaced(name))
    }

    private mutating func add(_ field: HTTPField) {
        if rules.isCredential(field.name) {
            line("secret-header", "\(field.name.canonicalName) \(rules.digest(of: field.value.utf8))")
        } else if !hasCacheKey {
            field.name.canonicalName.withBytes { name in field.value.withBytes { line("header", name, $0) } }
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

    private mutating func addBody(_ body: RequestBody, of request: borrowing WireRequest) throws(RequestError) {
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
        guard !rules.isIgnored(parameter: name.span) else { return }
        let isSecret = rules.isSecret(parameter: name.span)
        guard isSecret || !hasCacheKey, !(hasIdentity && rules.isReplaced(parameter: name.span)) else { return }
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

}

// MARK: Lines

extension CanonicalForm.Writer {
    private mutating func line(_ tag: StaticString, _ content: Span<UInt8>) {
        bytes.append(addingCapacity: tag.utf8CodeUnitCount + content.count + 2) { line in
            line.append(tag)
            line.append(0x20)
            line.append(content)
            line.append(0x0A)
        }
    }

    private mutating func line(_ tag: StaticString, _ name: Span<UInt8>, _ value: Span<UInt8>) {
        bytes.append(addingCapacity: tag.utf8CodeUnitCount + name.count + value.count + 3) { line in
            line.append(tag)
            line.append(0x20)
            line.append(name)
            line.append(0x20)
            line.append(value)
            line.append(0x0A)
        }
    }

    private mutating func line(_ tag: StaticString, _ content: String) { content.withBytes { line(tag, $0) } }

    private mutating func line(_ tag: StaticString, _ content: some Sequence<UInt8>) {
        line(tag, Array(content).span)
    }
}

extension OutputSpan<UInt8> {
    fileprivate mutating func append(_ text: StaticString) { text.withUTF8Buffer { append($0.span) } }

    fileprivate mutating func append(_ bytes: Span<UInt8>) {
        withUnsafeMutableBufferPointer { buffer, count in
            let rest = UnsafeMutableBufferPointer(rebasing: buffer[count...])
            count += bytes.withUnsafeBufferPointer { rest.initialize(fromContentsOf: $0) }
        }
    }
}
