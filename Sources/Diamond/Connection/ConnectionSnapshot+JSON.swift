public import Foundation

/// The written form of a connection, version 1:
///
/// ```json
/// {"version": 1, "request": {"url": "https://api.example.com/cities"}, "state": "finished", "response": {"status": 200}}
/// ```
///
/// | key | value |
/// |---|---|
/// | `request` | the written form of the ``Request`` |
/// | `state` | `ready`, `executing` with `attempt`, `waiting` with `until` (seconds since 1970), `paused`, `finished` |
/// | `response` | the written form of the ``Response`` |
/// | `error` | instead of `response`: `code`, `message` and, if present, `response`, `attempts` and `job` |
/// | `file` | the path of a download |
/// | `size` | the bytes of the file; required with `file` and `response` |
///
/// A body in a file is written as the path, a secret as its name. Other headers and parameters are written unencrypted.
/// An unknown key is an error.
extension ConnectionSnapshot: Written {
    /// Reads the written form.
    ///
    /// - Throws: ``RequestError`` with line and column if the text is not JSON, and naming the offending key if it is
    ///   not a connection.
    public init(json: Data) throws(RequestError) {
        try self.init(written: try JSONValue.read(json, maximumDepth: WrittenObject.maximumDepth))
    }

    /// Returns the written form, with sorted keys.
    ///
    /// - Throws: ``RequestError`` for a request that has no written form, as ``Request/json()`` does.
    public func json() throws(RequestError) -> Data { Data(try written.written()) }

    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "the connection")
        try form.checkVersion()
        guard let value = form.consume("request") else {
            throw form.failure(at: "request", "is missing: give the request")
        }
        let request = try Request(written: value)
        let result = try Self.result(&form)
        let file = try form.string("file").map { URL(filePath: $0) }
        let size = try form.integer("size", in: 0...Int.max)
        if file != nil, size == nil, case .success = result {
            throw form.failure(at: "size", "is missing: write the bytes of the file")
        }
        self.init(
            request: request, state: try Self.state(&form, result: result), result: result, file: file, size: size)
        try form.finish()
    }

    private static func result(_ form: inout WrittenObject) throws(RequestError) -> ConnectionLife.Outcome? {
        if let value = form.consume("response") { return .success(try Response(written: value)) }
        return try form.consume("error").map { value throws(RequestError) in
            .failure(try ConnectionError(written: value))
        }
    }

    private static func state(
        _ form: inout WrittenObject,
        result: ConnectionLife.Outcome?
    ) throws(RequestError) -> ConnectionState {
        let word: Word = try form.choice(try form.string("state") ?? "ready", for: "state")
        switch word {
        case .ready: return .ready
        case .executing: return .executing(attempt: try form.integer("attempt", in: 1...Int.max) ?? 1)
        case .waiting:
            guard let date = try form.date("until") else {
                throw form.failure(at: "until", "is missing: write seconds")
            }
            return .waiting(until: date)
        case .paused: return .paused
        case .finished:
            guard let result else { throw form.failure(at: "state", "is finished without response or error: give one") }
            return .finished(result.ending)
        }
    }

    var written: JSONValue {
        get throws(RequestError) {
            var members: [String: JSONValue] = ["version": 1, "request": try request.written]
            switch state {
            case .ready: members["state"] = Word.ready.written
            case .executing(let attempt):
                members["state"] = Word.executing.written
                members["attempt"] = JSONValue(attempt)
            case .waiting(let date):
                members["state"] = Word.waiting.written
                members["until"] = date.written
            case .paused: members["state"] = Word.paused.written
            case .finished: members["state"] = Word.finished.written
            }
            switch result {
            case .success(let response): members["response"] = response.written
            case .failure(let error): members["error"] = error.written
            case nil: break
            }
            if let file { members["file"] = .string(file.path) }
            if let size { members["size"] = JSONValue(size) }
            return .object(members)
        }
    }

    private enum Word: String, CaseIterable {
        case ready, executing, waiting, paused, finished

        var written: JSONValue { .string(rawValue) }
    }
}
