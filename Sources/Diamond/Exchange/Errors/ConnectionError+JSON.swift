/// The JSON form of an error, the value of `error` in that of a connection: `code` and `message`, and, if there are
/// any, `response`, `attempts`, `job` and `openUntil`. The cause is not written: it may be of any type, and contain
/// secrets.
extension ConnectionError {
    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "the error")
        guard let code = try form.string("code") else { throw form.failure(at: "code", "is missing: write a word") }
        self.init(Code(description: code), try form.string("message") ?? "")
        if let value = form.consume("response") { response = try Response(written: value) }
        attempts = try form.array("attempts").map { value throws(RequestError) in try Attempt(written: value) }
        jobID = try form.integer("job", in: 1...Int.max).map(Int64.init)
        openUntil = try form.date("openUntil")
        try form.finish()
    }

    var written: JSONValue {
        var members: [String: JSONValue] = ["code": .string(code.description), "message": .string(message)]
        if let response { members["response"] = response.written }
        if !attempts.isEmpty { members["attempts"] = .array(attempts.map(\.written)) }
        if let jobID { members["job"] = JSONValue(jobID) }
        if let openUntil { members["openUntil"] = openUntil.written }
        return .object(members)
    }
}
