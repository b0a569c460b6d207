public import Foundation
import HTTPTypes

/// The written form of a request, version 1, used in files, by `cachectl send`, and on disk. See <doc:WritingRequests>.
extension Request: Written {
    /// Reads the written form.
    ///
    /// - Throws: ``RequestError`` with line and column if the text is not JSON, and with the wrong key if it is not a
    ///   request.
    public init(json: Data) throws(RequestError) {
        try self.init(written: try JSONValue.read(json, maximumDepth: WrittenObject.maximumDepth))
    }

    /// Returns the written form, with sorted keys, without default values. Credentials in ``headers`` and
    /// ``parameters`` are written in plain text.
    ///
    /// - Throws: ``RequestError`` for a number that is not finite, for a secret without a name, and for values that
    ///   could not be read back: one nested too deeply, and one of a header that cannot be sent.
    public func json() throws(RequestError) -> Data {
        Data(try written.written())
    }

    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "the request")
        guard let url = try form.string("url") else {
            throw form.failure(at: "url", "is missing: give the URL to call")
        }
        try form.checkVersion()
        self.init(url)
        if let method = try form.string("method") { self.method = try Self.method(method, in: form) }
        if let value = form.consume("parameters") { parameters = try Parameters(written: value, key: "parameters") }
        if let name = try form.string("destination") { destination = try form.choice(name, for: "destination") }
        if let name = try form.string("arrays") { encoding.arrays = try form.choice(name, for: "arrays") }
        if let name = try form.string("objects") { encoding.objects = try form.choice(name, for: "objects") }
        if let value = form.consume("headers") { headers = try HTTPFields(written: value, key: "headers") }
        if let value = form.consume("body") { body = try RequestBody(written: value) }
        if let name = try form.string("policy") { cache.mode = try form.choice(name, for: "policy") }
        cache.maxAge = try form.duration("maxAge", default: nil)
        cache.storesPost = try form.boolean("storesPost")
        timeout = try form.duration("timeout", default: Self.defaultTimeout)
        tags = Tags(try form.strings("tags"))
        invalidates = Tags(try form.strings("invalidates"))
        if let name = try form.string("lane") { lane = Lane(name) }
        if let value = form.consume("retry") { retry = try RetryPolicy(written: value) }
        if let value = form.consume("replay") { replay = try ReplayPolicy(written: value) }
        bodyLimit = try form.integer("bodyLimit", in: Self.bodyLimits)
        try readIdentity(&form)
        try form.finish()
    }

    private mutating func readIdentity(_ form: inout WrittenObject) throws(RequestError) {
        for value in try form.array("credentials") { credentials.append(try Credential(written: value)) }
        identity = try form.string("identity")
        cacheKey = try form.string("cacheKey")
        rules.ignoring = try form.strings("ignoring")
        rules.nonSelecting = try form.strings("nonSelecting")
        rules.secrets = try form.strings("secrets")
    }

    private static func method(_ token: String, in form: WrittenObject) throws(RequestError) -> HTTPRequest.Method {
        guard let method = HTTPRequest.Method(token) else {
            throw form.failure(at: "method", "'\(token)' is not a method: write one word such as GET")
        }
        return method
    }

    var written: JSONValue {
        get throws(RequestError) {
            var members: [String: JSONValue] = ["version": 1, "method": .string(method.rawValue), "url": .string(url)]
            if !parameters.isEmpty { members["parameters"] = parameters.written }
            if destination != .automatic { members["destination"] = .string(destination.rawValue) }
            if encoding.arrays != .repeated { members["arrays"] = .string(encoding.arrays.rawValue) }
            if encoding.objects != .brackets { members["objects"] = .string(encoding.objects.rawValue) }
            for field in headers { try HTTPField.check(field.value, of: field.name.rawName) }
            if !headers.isEmpty { members["headers"] = headers.written }
            if let body { members["body"] = body.written }
            if cache.mode != .automatic { members["policy"] = .string(cache.mode.rawValue) }
            if let maxAge = cache.maxAge { members["maxAge"] = .number(maxAge.writtenSeconds) }
            if cache.storesPost { members["storesPost"] = .bool(true) }
            let seconds = timeout.map { JSONValue.number($0.writtenSeconds) }
            if timeout != Self.defaultTimeout { members["timeout"] = seconds ?? .null }
            if !tags.isEmpty { members["tags"] = .array(tags.sorted().map { .string($0) }) }
            if !invalidates.isEmpty { members["invalidates"] = .array(invalidates.sorted().map { .string($0) }) }
            if lane != .default { members["lane"] = .string(lane.name) }
            if let retry { members["retry"] = retry.written }
            if replay != .never { members["replay"] = replay.written }
            if let bodyLimit { members["bodyLimit"] = JSONValue(bodyLimit) }
            try writeIdentity(into: &members)
            return try Self.checked(.object(members))
        }
    }

    /// Returns the form if it is not nested too deeply. It leaves levels for an enclosing form, such as a connection's.
    private static func checked(_ form: JSONValue) throws(RequestError) -> JSONValue {
        guard !form.isDeeper(than: WrittenObject.maximumDepth - 4) else {
            let remedy = "nest it in \(JSONTape.maximumDepth) levels at most"
            throw RequestError(.malformedRequest, "the request holds a value too deep to be read back: \(remedy)")
        }
        guard !form.hasFault else {
            let remedy = "remove it, or send the request without the queue"
            throw RequestError(.malformedRequest, "the request holds JSON that cannot be read back: \(remedy)")
        }
        return form
    }

    private func writeIdentity(into members: inout [String: JSONValue]) throws(RequestError) {
        var written: [JSONValue] = []
        for credential in credentials { written.append(try credential.written()) }
        if !written.isEmpty { members["credentials"] = .array(written) }
        if let identity { members["identity"] = .string(identity) }
        if let cacheKey { members["cacheKey"] = .string(cacheKey) }
        let lists = ["ignoring": rules.ignoring, "nonSelecting": rules.nonSelecting, "secrets": rules.secrets]
        for (key, names) in lists where !names.isEmpty { members[key] = .array(names.map { .string($0) }) }
    }
}
