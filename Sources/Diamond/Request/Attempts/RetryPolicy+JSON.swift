/// The written form of a retry policy, under `retry` in that of a request:
///
/// ```json
/// {"attempts": 5, "baseDelay": 0.05, "throttledDelay": 1, "maxDelay": 20, "retryAfterLimit": 5, "attemptTimeout": 10,
///  "deadline": 30, "window": 30, "hedgeDelay": 0.2, "statuses": [429, 503], "unsafeMethods": true}
/// ```
///
/// Times are seconds. `null` for `attemptTimeout`, `deadline` and `window` is no limit, and for `hedgeDelay` no
/// hedging. A missing key stands for its default. An unknown key is an error.
extension RetryPolicy: Written {
    init(written: JSONValue) throws(RequestError) {
        self.init()
        var form = try WrittenObject(written, in: "the retry policy")
        attempts = try form.integer("attempts", in: Self.allowedAttempts) ?? attempts
        try readDelays(&form)
        attemptTimeout = try form.duration("attemptTimeout", default: nil)
        deadline = try form.duration("deadline", default: nil)
        window = try form.duration("window", default: window)
        hedgeDelay = try form.duration("hedgeDelay", default: nil)
        if let value = form.consume("statuses") { statuses = try Self.statuses(value, in: form) }
        retriesUnsafeMethods = try form.boolean("unsafeMethods")
        try form.finish()
    }

    var written: JSONValue {
        var members: [String: JSONValue] = [:]
        let usual = Self.default
        if attempts != usual.attempts { members["attempts"] = JSONValue(attempts) }
        for (key, path) in Self.delays where self[keyPath: path] != usual[keyPath: path] {
            members[key] = .number(self[keyPath: path].writtenSeconds)
        }
        for (key, path) in Self.limits where self[keyPath: path] != usual[keyPath: path] {
            members[key] = self[keyPath: path].map { .number($0.writtenSeconds) } ?? .null
        }
        if statuses != usual.statuses { members["statuses"] = .array(statuses.sorted().map { JSONValue($0) }) }
        if retriesUnsafeMethods { members["unsafeMethods"] = true }
        return .object(members)
    }

    private mutating func readDelays(_ form: inout WrittenObject) throws(RequestError) {
        for (key, path) in Self.delays {
            guard let delay = try form.duration(key, default: self[keyPath: path]) else {
                throw form.failure(at: key, "is null: write seconds")
            }
            self[keyPath: path] = delay
        }
    }

    private static func statuses(_ value: JSONValue, in form: WrittenObject) throws(RequestError) -> Set<Int> {
        guard case .array(let values) = value else {
            throw form.failure(at: "statuses", "is \(value.kind): write an array, […]")
        }
        return Set(
            try values.map { value throws(RequestError) in
                guard case .integer(let number) = value.normalized, let status = Int(exactly: number),
                    allowedStatuses.contains(status)
                else {
                    throw form.failure(
                        at: "statuses", "holds a value that is not an error status: write numbers from 400 to 599")
                }
                return status
            })
    }

    private static var delays: [(String, WritableKeyPath<Self, Duration>)] {
        [
            ("baseDelay", \.baseDelay), ("throttledDelay", \.throttledDelay), ("maxDelay", \.maxDelay),
            ("retryAfterLimit", \.retryAfterLimit),
        ]
    }

    private static var limits: [(String, WritableKeyPath<Self, Duration?>)] {
        [
            ("attemptTimeout", \.attemptTimeout), ("deadline", \.deadline), ("window", \.window),
            ("hedgeDelay", \.hedgeDelay),
        ]
    }
}
